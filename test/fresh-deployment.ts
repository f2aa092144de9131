import { applyD1Migrations, type D1Migration, listDurableObjectIds, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach } from "vitest";

interface Bindings extends Readonly<Record<string, unknown>> {
  readonly DB: D1Database;
  readonly CACHE?: KVNamespace;
  readonly TEST_MIGRATIONS: D1Migration[];
}

const bindings = env as unknown as Bindings;

/** A real clock, also where a test sets the time. */
const nowMs = performance.now.bind(performance);
/** The runtime shuts an object down after ten seconds without a request, and its `reset` leaves those that are down as they are. */
const idleMs = 5_000;
let lastResetMs = nowMs();

/** Every test of the file starts on an empty, migrated deployment: storage is isolated per file only, so each test wipes it. */
export function useFreshDeployment(): void {
  beforeEach(() => applyD1Migrations(bindings.DB, bindings.TEST_MIGRATIONS));
  afterEach(resetDeployment);
}

/** **Empties every binding's storage**, however long it has been in use. */
export async function resetDeployment(): Promise<void> {
  if (nowMs() > lastResetMs + idleMs) await startEveryObject();
  await reset();
  lastResetMs = nowMs();
}

/** D1 and KV are objects too, here. */
async function startEveryObject(): Promise<void> {
  const started = Object.values(bindings)
    .filter(isObjectNamespace)
    .map(async (namespace) => {
      const ids = await listDurableObjectIds(namespace);
      // None has this method: to be asked for it is enough.
      await Promise.allSettled(ids.map((id) => (namespace.get(id) as unknown as { start(): Promise<void> }).start()));
    });
  await Promise.all([...started, bindings.DB.prepare("SELECT 1").run(), bindings.CACHE?.get("any")]);
}

function isObjectNamespace(binding: unknown): binding is DurableObjectNamespace {
  return binding?.constructor.name === "DurableObjectNamespace";
}
