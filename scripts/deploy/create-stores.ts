import { locationForDatabases } from "./locations.ts";
import type { Session } from "./session.ts";
import type { StoreIds } from "./worker-configuration.ts";

export interface CreatedStores {
  readonly ids: StoreIds;
  readonly created: readonly string[];
}

/** **Creates the resources that an environment lacks** in its account: databases, KV namespaces, queues with their dead-letter queues, buckets. */
export async function createStores(session: Session): Promise<CreatedStores> {
  const { api, account, environment, names, inventory } = session;
  const base = `/accounts/${account}`;
  const created: string[] = [];
  const databases: Record<string, string> = {};
  const namespaces: Record<string, string> = {};
  for (const [binding, name] of Object.entries(names.databases)) {
    let id = inventory.databases.get(name);
    if (id === undefined) {
      const place = locationForDatabases(environment);
      id = (await api.send<{ uuid: string }>("POST", `${base}/d1/database`, { name, ...place })).uuid;
      created.push(`D1 ${name}, ${Object.values(place).join("")}`);
    }
    databases[binding] = id;
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
