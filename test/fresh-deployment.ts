import { applyD1Migrations, type D1Migration, listDurableObjectIds, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach } from "vitest";

interface Bindings extends Readonly<Record<string, unknown>> {
  readonly DB: D1Database;
  readonly CACHE?: KVNamespace;
  readonly TEST_MIGRATIONS: D1Migration[];
}

const bindings = env as unknown as Bindings;

/** Real clocks, also where a test sets the time. */
const nowMs = performance.now.bind(performance);
const wait = scheduler.wait.bind(scheduler);
/** The runtime shuts an object down after ten seconds without a request, and its `reset` leaves those that are down as they are. */
const idleMs = 5_000;
/** At times `reset` leaves all as it was, without a word: seen after tests that kept the runtime busy for seconds. */
const attempts = 20;
const pauseMs = 50;
let lastResetMs = nowMs();

/** Every test of the file starts on an empty, migrated deployment: storage is isolated per file only, so each test wipes it. */
export function useFreshDeployment(): void {
  beforeEach(() => applyD1Migrations(bindings.DB, bindings.TEST_MIGRATIONS));
  afterEach(resetDeployment);
}

/** **Empties every binding's storage**, however long it has been in use. What took so long that objects were shut down is wiped twice. */
export async function resetDeployment(): Promise<void> {
  const wasLong = nowMs() > lastResetMs + idleMs;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (attempt > 1) await wait(pauseMs);
    if (wasLong) await startEveryObject();
    await reset();
    if ((await isDatabaseEmpty()) && (attempt > 1 || !wasLong)) {
      lastResetMs = nowMs();
      return;
    }
  }
  throw new Error(`storage was not wiped in ${attempts} attempts`);
}

/** KV is made of objects too, here. So is D1, and it has been asked when it is found not to be empty. */
async function startEveryObject(): Promise<void> {
  const started = Object.values(bindings)
    .filter(isObjectNamespace)
    .map(async (namespace) => {
      const ids = await listDurableObjectIds(namespace);
      // None has this method: to be asked for it is enough.
      await Promise.allSettled(ids.map((id) => (namespace.get(id) as unknown as { start(): Promise<void> }).start()));
    });
  await Promise.all([...started, bindings.CACHE?.get("any")]);
}

async function isDatabaseEmpty(): Promise<boolean> {
  return (await bindings.DB.prepare("SELECT 1 FROM sqlite_master LIMIT 1").first()) === null;
}

function isObjectNamespace(binding: unknown): binding is DurableObjectNamespace {
  return binding?.constructor.name === "DurableObjectNamespace";
}
