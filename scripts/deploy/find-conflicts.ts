import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import type { Environment } from "./environment.ts";
import { foreignRoutes, type Inventory } from "./inventory.ts";
import { deployedWorkerName, hasSecret, scriptsOf, workersOf } from "./shape.ts";
import { noResource, type StoreNames } from "./worker-configuration.ts";

export interface Secrets {
  /** The fingerprint of the master key that the operator provided or an unfinished deployment keeps. */
  readonly fingerprint: string | undefined;
}

/**
 * **Finds the conflicts of a deployment** in the inventory, before anything is changed. Resources that do not belong to this environment are taken
 * over only if `takeOver` names them.
 */
export function findConflicts(
  environment: Environment,
  names: StoreNames,
  inventory: Inventory,
  secrets: Secrets,
): string[] {
  return [
    ...takenNames(environment, names, inventory),
    ...changedChoices(environment, inventory),
    ...bucketsElsewhere(environment, names, inventory),
    ...wrongSecrets(environment, inventory, secrets),
  ];
}

/** A bucket of an earlier release, or of a hand: its segments and backups would be missing in a new one of the same name. */
function bucketsElsewhere({ jurisdiction }: Environment, names: StoreNames, inventory: Inventory): string[] {
  return names.buckets
    .filter((name) => inventory.bucketsOutside.has(name) && !inventory.buckets.has(name))
    .map(
      (name) =>
        `The bucket "${name}" is outside of the jurisdiction ${jurisdiction}. Create it there (npx wrangler r2 bucket create ${name} --jurisdiction ${jurisdiction}), copy its objects, and run this again`,
    );
}

/** Existing resources of others, and how to agree to taking them over. */
function takenNames(environment: Environment, names: StoreNames, inventory: Inventory): string[] {
  const { address } = inventory;
  const own = scriptsOf(environment);
  const taken: { readonly what: string; readonly why: string }[] = [];
  for (const [name, owner] of inventory.workers) {
    if (owner === environment.name) continue;
    const script = deployedWorkerName(environment.prefix, name);
    const why =
      owner === undefined ? "exists and was not deployed by this command" : `belongs to the environment "${owner}"`;
    taken.push({ what: `worker:${script}`, why: `The Worker "${script}" ${why}` });
  }
  const database = names.databases["DB"]!;
  if (inventory.databaseIsForeign) {
    taken.push({
      what: `d1:${database}`,
      why: `The database "${database}" exists and has tables of something else`,
    });
  }
  for (const [queue, { consumers }] of inventory.queues) {
    for (const consumer of consumers) {
      if (own.has(consumer)) continue;
      taken.push({ what: `queue:${queue}`, why: `The queue "${queue}" has the consumer "${consumer}"` });
    }
  }
  if (!environment.workersDev) {
    const hosts = [{ ...address, hostname: new URL(address.issuer).hostname }, address.certificateHost];
    for (const { hostname, domainOf, dnsRecords } of hosts.filter((each) => each !== undefined)) {
      if (domainOf !== undefined && !own.has(domainOf)) {
        taken.push({ what: `domain:${hostname}`, why: `${hostname} is the custom domain of the Worker "${domainOf}"` });
      }
      // A custom domain has its own DNS record, which the API lists too.
      if (domainOf === undefined && dnsRecords.length > 0) {
        taken.push({
          what: `dns:${hostname}`,
          why: `${hostname} has DNS records (${dnsRecords.join(", ")}), which would be replaced`,
        });
      }
    }
    for (const route of foreignRoutes(environment, address)) {
      taken.push({
        what: `route:${route.split(" ")[0]}`,
        why: `The route ${route} exists and is not this environment's`,
      });
    }
  }
  // The operator's Worker is only called.
  const { HOOKS: _, ...stores } = environment.resources;
  const outside = Object.values(stores).filter((name) => name !== noResource && !hasPrefix(name, environment.prefix));
  for (const name of outside)
    taken.push({
      what: `name:${name}`,
      why: `resources: "${name}" does not begin with the prefix "${environment.prefix}"`,
    });
  const refusals = taken
    .filter(({ what }) => !environment.takeOver.has(what))
    .map(({ what, why }) => `${why}. To take it over: --take-over ${what}`);
  return [...new Set(refusals)];
}

function hasPrefix(name: string, prefix: string): boolean {
  return name === prefix || name.startsWith(`${prefix}-`) || name.startsWith(`${prefix}_`);
}

/** Choices that cannot be changed after the first deployment. */
function changedChoices(environment: Environment, { recorded, address }: Inventory): string[] {
  if (recorded === undefined || recorded.size === 0) return [];
  const chosen: Readonly<Record<string, string>> = {
    environment: environment.name,
    issuer: address.issuer,
    jurisdiction: environment.jurisdiction,
    region: environment.region,
  };
  const reasons: Readonly<Record<string, string>> = {
    environment: "the stores belong to it",
    issuer: "tokens, clients and consents contain it; define another environment for another issuer",
    jurisdiction: "objects of another jurisdiction are other, empty objects",
    region:
      "objects stay where they were created; open a generation of shards elsewhere (docs/operating/resharding.md)",
  };
  return Object.entries(chosen).flatMap(([name, value]) => {
    const before = recorded.get(name);
    return before === undefined || before === value
      ? []
      : [`The ${name} of this deployment is ${before} and cannot become ${value}: ${reasons[name]}.`];
  });
}

function wrongSecrets(environment: Environment, inventory: Inventory, { fingerprint }: Secrets): string[] {
  const recorded = inventory.recorded?.get("key_fingerprint");
  if (recorded !== undefined && fingerprint !== undefined && fingerprint !== recorded) {
    return [
      `OP_MASTER_KEY has changed: this deployment runs the key with the fingerprint ${recorded}, and the one given has ${fingerprint}. To replace it: docs/operating/rotate-keys.md`,
    ];
  }
  const ours = [...inventory.workers].filter(([, owner]) => owner === environment.name).map(([name]) => name);
  if (inventory.recorded === undefined && ours.length > 0 && !inventory.databaseIsForeign) {
    return [
      `${ours.join(", ")} of this environment exist and their database does not. A new OP_MASTER_KEY is never made over an existing deployment: restore the database, or npm run deploy -- destroy.`,
    ];
  }
  if (recorded !== undefined && isFirstDeployment(inventory) && fingerprint === undefined) {
    return [
      `The first deployment was interrupted on another machine, or its file of made secrets is gone: set OP_MASTER_KEY to the key with the fingerprint ${recorded}, or npm run deploy -- destroy and begin again.`,
    ];
  }
  const lacking = workersWithoutSecret(environment, inventory);
  if (recorded !== undefined && lacking.length > 0 && fingerprint === undefined) {
    return [
      `${lacking.join(", ")} must be given the deployment's OP_MASTER_KEY (fingerprint ${recorded}): set it in the environment and run this command again.`,
    ];
  }
  return [];
}

/** Whether this run begins or continues the first deployment, which creates the secrets. */
export function isFirstDeployment(inventory: Inventory): boolean {
  return inventory.recorded?.has("admin_client") !== true;
}

/** The Workers with secrets that do not exist yet. */
export function workersWithoutSecret(environment: Environment, inventory: Inventory): WorkerName[] {
  return workersOf(environment)
    .map(({ name }): WorkerName => name)
    .filter((name) => hasSecret(name) && !inventory.workers.has(name));
}
