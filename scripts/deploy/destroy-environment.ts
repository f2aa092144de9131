import { scriptOf, workers } from "../../packages/edge-op/src/workers.ts";
import { CloudflareError } from "./cloudflare-api.ts";
import { confirm } from "./confirm.ts";
import { forgetSecrets } from "./made-secrets.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { type DeployStep, runDeploySteps } from "./run-steps.ts";
import type { Session } from "./session.ts";
import { deployedWorkerName } from "./shape.ts";

/**
 * **`npm run deploy -- destroy`**: deletes the Workers of an environment with their objects, then its stores. It asks twice, deletes only resources
 * with the environment's mark and names, and keeps the environment's file.
 */
export async function destroyEnvironment(session: Session, confirmed: string | undefined): Promise<void> {
  const { environment, inventory, names } = session;
  refuseForeign(session);
  const doomed = [
    ...ownWorkers(session).map((script) => `Worker ${script}`),
    ...Object.values(names.databases)
      .filter((name) => inventory.databases.has(name))
      .map((name) => `D1 ${name}`),
    ...Object.values(names.namespaces)
      .filter((name) => inventory.namespaces.has(name))
      .map((name) => `KV ${name}`),
    ...names.queues.filter((name) => inventory.queues.has(name)).map((name) => `queue ${name}`),
  ];
  if (doomed.length === 0) {
    console.log(`Nothing of the environment "${environment.name}" exists.`);
    return;
  }
  console.log(
    `This permanently deletes ${session.issuer}: every client, user, session, key and audit event.\n${doomed.map((what) => `  ${what}`).join("\n")}`,
  );
  const remains = remaining(session);
  if (remains.length > 0) console.log(`These stay:\n${remains.map((what) => `  ${what}`).join("\n")}`);
  await confirm(environment.name, confirmed, [
    ["Type the name of the environment to delete it: ", environment.name],
    [`There is no way back. Type "delete ${environment.name}": `, `delete ${environment.name}`],
  ]);
  await RunLock.run(session, () => runDeploySteps(steps(session)));
  forgetSecrets(session.directory);
  console.log(`Deleted. deployments/${environment.name} is still there; delete it if you will not deploy again.`);
}

/** An exported audit log is evidence: its owner must delete it at Cloudflare, which deletes no bucket with content. */
function remaining({ environment, inventory, names }: Session): string[] {
  const host = inventory.address.certificateHost?.hostname;
  const place = environment.jurisdiction === "none" ? "" : ` --jurisdiction ${environment.jurisdiction}`;
  return [
    ...names.buckets
      .filter((name) => inventory.buckets.has(name))
      .map((name) => `R2 ${name}: empty it, then npx wrangler r2 bucket delete ${name}${place}`),
    ...(host === undefined ? [] : [`${host} in SSL/TLS › Client Certificates › Hosts of its zone: remove it there`]),
    ...(host === undefined || environment.clientAuthority === undefined
      ? []
      : [`the uploaded clientAuthority: npx wrangler cert list, then npx wrangler cert delete`]),
  ];
}

function ownWorkers({ environment, inventory }: Session): string[] {
  const own = [...inventory.workers].flatMap(([name, owner]) => (owner === environment.name ? [scriptOf(name)] : []));
  const present = new Set<string>([...own, ...inventory.otherShape]);
  // Workers that bind others are deleted before those that are bound.
  return [...workers]
    .reverse()
    .filter(({ name }) => present.has(name))
    .map(({ name }) => deployedWorkerName(environment.prefix, name));
}

/** Stores with these names that belong to another environment or something else. */
export function refuseForeign({ environment, inventory, names }: Session): void {
  const foreign = [...inventory.workers].filter(([, owner]) => owner !== environment.name).map(([name]) => name);
  const errors = foreign.map(
    (name) => `The Worker "${deployedWorkerName(environment.prefix, name)}" was not deployed as "${environment.name}".`,
  );
  const owner = inventory.recorded?.get("environment");
  if (owner !== undefined && owner !== environment.name)
    errors.push(`The database "${names.databases["DB"]}" belongs to the environment "${owner}".`);
  if (inventory.databaseIsForeign) errors.push(`The database "${names.databases["DB"]}" was not made by this command.`);
  if (errors.length > 0) throw new Refusal(errors);
}

function steps(session: Session): DeployStep[] {
  const { api, account, inventory, names } = session;
  const base = `/accounts/${account}`;
  const remove = async (path: string): Promise<undefined> => {
    try {
      await api.send("DELETE", path);
    } catch (error) {
      if (!(error instanceof CloudflareError && error.status === 404)) throw error;
    }
    return undefined;
  };
  const { address } = inventory;
  const own = new Set(ownWorkers(session));
  const consumers = names.queues.flatMap((name) => {
    const queue = inventory.queues.get(name);
    return queue === undefined ? [] : [{ name, id: queue.id }];
  });
  return [
    {
      title: "Routes and domain",
      async run() {
        if (address.zone === undefined) return undefined;
        const routes = await api.get<{ id: string; script?: string }[]>(`/zones/${address.zone.id}/workers/routes`);
        for (const { id, script } of routes) {
          if (script !== undefined && own.has(script)) await remove(`/zones/${address.zone.id}/workers/routes/${id}`);
        }
        const hosts = new Set([new URL(address.issuer).hostname, address.certificateHost?.hostname ?? []].flat());
        for (const hostname of hosts) {
          const domains = await api.get<{ id: string; hostname: string; service: string }[]>(
            `${base}/workers/domains?hostname=${hostname}`,
          );
          for (const domain of domains) {
            if (domain.hostname === hostname && own.has(domain.service))
              await remove(`${base}/workers/domains/${domain.id}`);
          }
        }
        return undefined;
      },
    },
    ...consumers.map(({ name, id }) => ({ title: `Queue ${name}`, run: () => removeQueue(session, id, remove) })),
    ...ownWorkers(session).map((script) => ({
      title: `Worker ${script}`,
      run: () => remove(`${base}/workers/scripts/${script}?force=true`),
    })),
    ...Object.values(names.namespaces).flatMap((name) => {
      const id = inventory.namespaces.get(name);
      return id === undefined
        ? []
        : [{ title: `KV ${name}`, run: () => remove(`${base}/storage/kv/namespaces/${id}`) }];
    }),
    ...Object.values(names.databases).flatMap((name) => {
      const id = inventory.databases.get(name);
      return id === undefined ? [] : [{ title: `D1 ${name}`, run: () => remove(`${base}/d1/database/${id}`) }];
    }),
  ];
}

/** A queue with a consumer cannot be deleted. */
async function removeQueue({ api, account }: Session, id: string, remove: (path: string) => Promise<undefined>) {
  const queue = `/accounts/${account}/queues/${id}`;
  const consumers = (await api.find<{ consumer_id: string }[]>(`${queue}/consumers`)) ?? [];
  for (const { consumer_id } of consumers) await remove(`${queue}/consumers/${consumer_id}`);
  return remove(queue);
}
