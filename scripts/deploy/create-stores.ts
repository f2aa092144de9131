import { CloudflareError } from "./cloudflare-api.ts";
import { locationForDatabases } from "./locations.ts";
import { Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";
import type { StoreIds } from "./worker-configuration.ts";

export interface CreatedStores {
  readonly ids: StoreIds;
  readonly created: readonly string[];
}

/**
 * **Creates the resources that an environment lacks** in its account: databases, KV namespaces, queues with their dead-letter queues, buckets.
 * `lock` is called when the main database exists, which is the first one: of two runs, one goes on.
 */
export async function createStores(
  session: Session,
  lock: (mainDatabase: string) => Promise<unknown>,
): Promise<CreatedStores> {
  const { api, account, environment, names, inventory } = session;
  const base = `/accounts/${account}`;
  const created: string[] = [];
  const databases: Record<string, string> = {};
  const namespaces: Record<string, string> = {};
  for (const [binding, name] of Object.entries(names.databases)) {
    let id = inventory.databases.get(name);
    if (id === undefined) {
      const place = locationForDatabases(environment);
      id = await createDatabase(session, { name, ...place });
      created.push(`D1 ${name}, ${Object.values(place).join("")}`);
    }
    databases[binding] = id;
    if (binding === "DB") await lock(id);
  }
  for (const [binding, title] of Object.entries(names.namespaces)) {
    let id = inventory.namespaces.get(title);
    if (id === undefined) {
      id = (await api.send<{ id: string }>("POST", `${base}/storage/kv/namespaces`, { title })).id;
      created.push(`KV ${title}`);
    }
    namespaces[binding] = id;
  }
  for (const queue of names.queues) {
    if (inventory.queues.has(queue)) continue;
    await api.send("POST", `${base}/queues`, { queue_name: queue });
    created.push(`queue ${queue}`);
  }
  for (const bucket of names.buckets) {
    if (inventory.buckets.has(bucket)) continue;
    await api.send("POST", `${base}/r2/buckets`, { name: bucket });
    created.push(`R2 ${bucket}`);
  }
  return { ids: { databases, namespaces }, created };
}

/** What Cloudflare says of a name that another database has. */
const nameIsTaken = 7502;

async function createDatabase({ api, account }: Session, body: { readonly name: string }): Promise<string> {
  try {
    return (await api.send<{ uuid: string }>("POST", `/accounts/${account}/d1/database`, body)).uuid;
  } catch (error) {
    if (!(error instanceof CloudflareError) || error.code !== nameIsTaken) throw error;
    throw new Refusal([
      `The database "${body.name}" was created since this run began: somebody else is making this environment. Wait until that run has ended, and run the same command again`,
    ]);
  }
}
