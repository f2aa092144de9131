import { scriptOf, type WorkerName, workers } from "../../packages/edge-op/src/workers.ts";
import { certificateHost } from "./certificate-host.ts";
import type { CloudflareApi } from "./cloudflare-api.ts";
import type { Environment } from "./environment.ts";
import { type FoundSchema, ownMigrations } from "./migrations.ts";
import { firstRunTable, lockRow } from "./record-choices.ts";
import { deployedWorkerName, frontWorker, scriptsOf, workersOf } from "./shape.ts";
import { routePatterns, type StoreNames } from "./worker-configuration.ts";

/** **The existing resources of an account under the names of an environment**, read before anything is changed. */
export interface Inventory {
  readonly account: string;
  /** The existing Workers and the environment to which each belongs; `undefined` for another's. */
  readonly workers: ReadonlyMap<WorkerName, string | undefined>;
  /** Whether a Worker binds a database that is gone: the environment's is a new one. */
  readonly bindsOtherDatabase: boolean;
  /** The environment's Workers that only the other shape has. */
  readonly otherShape: readonly WorkerName[];
  /** Database ids by name. */
  readonly databases: ReadonlyMap<string, string>;
  readonly namespaces: ReadonlyMap<string, string>;
  readonly buckets: ReadonlySet<string>;
  /** Buckets outside of the environment's jurisdiction, if it has one. */
  readonly bucketsOutside: ReadonlySet<string>;
  readonly queues: ReadonlyMap<string, QueueFacts>;
  readonly address: AddressFacts;
  /** The rows of the table `deployment`, without the lock; `undefined` if the database or the table does not exist. */
  readonly recorded: ReadonlyMap<string, string> | undefined;
  /** The run that has the lock, as it is stored (run-lock.ts). */
  readonly lock: string | undefined;
  /** By binding; a database that does not exist is absent. */
  readonly schemas: ReadonlyMap<string, FoundSchema>;
  /** Whether the database has tables that were not created by this provider's migrations with `wrangler d1 migrations apply`. */
  readonly databaseIsForeign: boolean;
}

export interface QueueFacts {
  readonly id: string;
  /** The Workers that consume the queue. */
  readonly consumers: readonly string[];
}

export interface AddressFacts {
  readonly issuer: string;
  /** Absent with workers.dev. */
  readonly zone: { readonly id: string; readonly name: string } | undefined;
  readonly routes: readonly { readonly pattern: string; readonly script: string | undefined }[];
  /** The Worker that has the host, as its custom domain or under workers.dev. */
  readonly domainOf: string | undefined;
  /** Types and contents of DNS records of the host. */
  readonly dnsRecords: readonly string[];
  /** The same facts for the host for client certificates, if the deployment serves one in addition to the issuer's. */
  readonly certificateHost?: HostFacts & { readonly hostname: string; readonly zone: { readonly id: string } };
}

type HostFacts = Pick<AddressFacts, "domainOf" | "dnsRecords">;

interface Named {
  readonly id: string;
}

export async function readInventory(
  api: CloudflareApi,
  account: string,
  environment: Environment,
  names: StoreNames,
  address: AddressFacts,
): Promise<Inventory> {
  const base = `/accounts/${account}`;
  const listBuckets = async (from: CloudflareApi, isNeeded: boolean): Promise<ReadonlySet<string>> => {
    if (!isNeeded) return new Set();
    const { buckets } = await from.get<{ buckets: { name: string }[] }>(`${base}/r2/buckets?per_page=1000`);
    return new Set(buckets.map(({ name }) => name));
  };
  const hasBuckets = names.buckets.length > 0;
  const [scripts, databases, namespaces, queues, buckets, bucketsOutside] = await Promise.all([
    api.get<Named[]>(`${base}/workers/scripts`),
    api.list<{ uuid: string; name: string }>(`${base}/d1/database`),
    api.list<{ id: string; title: string }>(`${base}/storage/kv/namespaces`),
    api.list<{ queue_id: string; queue_name: string }>(`${base}/queues`),
    listBuckets(api, hasBuckets),
    listBuckets(api.outside(), hasBuckets && environment.jurisdiction !== "none"),
  ]);
  const scriptIds = new Set(scripts.map(({ id }) => id));
  const ownersOf = (names: readonly WorkerName[]) =>
    Promise.all(
      names
        .map((name) => ({ name, script: deployedWorkerName(environment.prefix, name) }))
        .filter(({ script }) => scriptIds.has(script))
        .map(async ({ name, script }) => ({ name, ...(await readBindings(api, account, script)) })),
    );
  const own = workersOf(environment).map(({ name }): WorkerName => name);
  const taken = new Set(own.map((name) => scriptOf(name)));
  const owners = await ownersOf(own);
  const others = await ownersOf(workers.map(({ name }) => name).filter((name) => !taken.has(name)));
  const databaseIds = new Map(databases.map(({ name, uuid }) => [name, uuid]));
  const mainId = databaseIds.get(names.databases["DB"]!);
  const schemas = await readSchemas(api, account, names, databaseIds);
  const ours = queues.filter(({ queue_name }) => names.queues.includes(queue_name));
  return {
    account,
    workers: new Map(owners.map(({ name, owner }) => [name, owner])),
    bindsOtherDatabase: owners.some(({ database }) => database !== undefined && database !== mainId),
    otherShape: others.filter(({ owner }) => owner === environment.name).map(({ name }) => name),
    databases: databaseIds,
    namespaces: new Map(namespaces.map(({ id, title }) => [title, id])),
    buckets,
    bucketsOutside,
    queues: new Map(
      await Promise.all(
        ours.map(
          async ({ queue_id, queue_name }): Promise<[string, QueueFacts]> => [
            queue_name,
            { id: queue_id, consumers: await consumersOf(api, account, queue_id) },
          ],
        ),
      ),
    ),
    address,
    schemas,
    ...(mainId === undefined
      ? { recorded: undefined, lock: undefined, databaseIsForeign: false }
      : await readRecord(api, account, mainId, schemas.get("DB")!)),
  };
}

interface WorkerBinding {
  readonly name: string;
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
}

/** The environment to which a Worker belongs, and its database. */
async function readBindings(api: CloudflareApi, account: string, script: string) {
  const settings = await api.find<{ bindings?: WorkerBinding[] }>(
    `/accounts/${account}/workers/scripts/${script}/settings`,
  );
  const find = (binding: string) => settings?.bindings?.find(({ name }) => name === binding);
  return { owner: find("DEPLOYMENT_ENVIRONMENT")?.text, database: find("DB")?.id };
}

async function consumersOf(api: CloudflareApi, account: string, queue: string): Promise<string[]> {
  const consumers = await api.get<{ script?: string; script_name?: string; service?: string; type?: string }[]>(
    `/accounts/${account}/queues/${queue}/consumers`,
  );
  return consumers.map(
    ({ script, script_name, service, type }) => script_name ?? script ?? service ?? type ?? "unknown",
  );
}

/** Runs statements in a database and returns the rows of each. */
export async function queryDatabase(
  api: CloudflareApi,
  account: string,
  database: string,
  sql: string,
): Promise<Record<string, unknown>[]> {
  const results = await api.send<{ results?: Record<string, unknown>[] }[]>(
    "POST",
    `/accounts/${account}/d1/database/${database}/query`,
    { sql },
  );
  return results.flatMap((each) => each.results ?? []);
}

const isOurs = "sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'";
const migrationTable = "d1_migrations";

async function readSchemas(
  api: CloudflareApi,
  account: string,
  names: StoreNames,
  ids: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, FoundSchema>> {
  const found = await Promise.all(
    Object.entries(names.databases).map(async ([binding, name]): Promise<[string, FoundSchema][]> => {
      const id = ids.get(name);
      if (id === undefined) return [];
      const run = (sql: string) => queryDatabase(api, account, id, sql);
      const rows = await run(`SELECT name, sql FROM sqlite_master WHERE ${isOurs}`);
      const objects = new Map(rows.map(({ name, sql }) => [String(name), String(sql)]));
      const applied = objects.has(migrationTable) ? await run(`SELECT name FROM ${migrationTable} ORDER BY name`) : [];
      return [[binding, { applied: applied.map(({ name }) => String(name)), objects }]];
    }),
  );
  return new Map(found.flat());
}

/** A run that ended during the migrations leaves some of the tables, or only the list of migrations. */
async function readRecord(
  api: CloudflareApi,
  account: string,
  database: string,
  { applied, objects }: FoundSchema,
): Promise<Pick<Inventory, "recorded" | "lock" | "databaseIsForeign">> {
  if (objects.has("deployment")) {
    const rows = await queryDatabase(api, account, database, "SELECT name, value FROM deployment");
    const recorded = new Map(rows.map(({ name, value }) => [String(name), String(value)]));
    const lock = recorded.get(lockRow);
    recorded.delete(lockRow);
    return { recorded, lock, databaseIsForeign: false };
  }
  const own = new Set(ownMigrations().flatMap(({ binding, name }) => (binding === "DB" ? [name] : [])));
  const others = [...objects.keys()].filter((name) => name !== firstRunTable);
  const isOwn = applied.length === 0 ? others.length <= 1 : applied.every((name) => own.has(name));
  const isForeign = others.length > 0 && (!objects.has(migrationTable) || !isOwn);
  return { recorded: undefined, lock: undefined, databaseIsForeign: isForeign };
}

/**
 * Whether a Worker of the environment, of either shape, has the issuer's address. Otherwise nothing will respond there until the front door is
 * uploaded.
 */
export function isAddressServed(
  { prefix }: Environment,
  { address, workers: present, otherShape }: Inventory,
): boolean {
  const scripts = [...present.keys(), ...otherShape].map((name) => deployedWorkerName(prefix, name));
  return address.domainOf !== undefined && scripts.includes(address.domainOf);
}

/** The issuer, its zone, and the existing records and routes of its host. */
export async function readAddress(
  api: CloudflareApi,
  account: string,
  environment: Environment,
): Promise<AddressFacts | string> {
  if (environment.workersDev) {
    const found = await api.find<{ subdomain?: string }>(`/accounts/${account}/workers/subdomain`);
    if (!found?.subdomain) {
      return "The account has no workers.dev subdomain yet: open Workers & Pages in the dashboard once, which creates it.";
    }
    const script = deployedWorkerName(environment.prefix, frontWorker(environment));
    const issuer = `https://${script}.${found.subdomain}.workers.dev`;
    const own = await api.find<{ enabled: boolean }>(`/accounts/${account}/workers/scripts/${script}/subdomain`);
    const domainOf = own?.enabled === true ? script : undefined;
    return { issuer, zone: undefined, routes: [], domainOf, dnsRecords: [] };
  }
  const issuer = environment.issuer!;
  const { hostname } = new URL(issuer);
  const zone = await findZone(api, account, environment.zone, hostname);
  if (zone === undefined) {
    return `No zone of ${environment.zone ?? hostname} is in the account. Add the domain to Cloudflare, or deploy with --workers-dev.`;
  }
  const own = certificateHost(environment);
  const ownZone = own === undefined ? undefined : await findZone(api, account, undefined, own);
  if (own !== undefined && ownZone === undefined) {
    return `No zone of ${own} (MTLS_ORIGIN) is in the account. Choose a host in one of its zones, or set MTLS_PROXY_KEY_SHA256 for a proxy of yours.`;
  }
  const [routes, facts] = await Promise.all([
    api.get<{ pattern: string; script?: string }[]>(`/zones/${zone.id}/workers/routes`),
    readHost(api, account, zone.id, hostname),
  ]);
  return {
    issuer,
    zone,
    routes: routes.map(({ pattern, script }) => ({ pattern, script })),
    ...facts,
    ...(own === undefined || ownZone === undefined
      ? {}
      : {
          certificateHost: {
            ...(own === hostname ? facts : await readHost(api, account, ownZone.id, own)),
            hostname: own,
            zone: ownZone,
          },
        }),
  };
}

/** The existing records and routes of a host. */
async function readHost(api: CloudflareApi, account: string, zone: string, hostname: string): Promise<HostFacts> {
  const [domains, records] = await Promise.all([
    api.get<{ hostname: string; service: string }[]>(`/accounts/${account}/workers/domains?hostname=${hostname}`),
    api.list<{ type: string; content: string }>(`/zones/${zone}/dns_records?name=${hostname}`),
  ]);
  return {
    domainOf: domains.find((domain) => domain.hostname === hostname)?.service,
    dnsRecords: records.map(({ type, content }) => `${type} ${content}`),
  };
}

/** The zone with the longest name that contains the host. */
async function findZone(api: CloudflareApi, account: string, given: string | undefined, hostname: string) {
  const labels = hostname.split(".");
  const candidates =
    given === undefined ? labels.slice(0, -1).map((_, index) => labels.slice(index).join(".")) : [given];
  for (const name of candidates) {
    const [zone] = await api.get<{ id: string; name: string }[]>(`/zones?name=${name}&account.id=${account}`);
    if (zone !== undefined && (hostname === zone.name || hostname.endsWith(`.${zone.name}`))) {
      return { id: zone.id, name: zone.name };
    }
  }
  return undefined;
}

/** Routes of the host that belong to Workers of others, and routes of this environment that are no longer wanted. */
export function foreignRoutes(environment: Environment, { issuer, routes }: AddressFacts): string[] {
  if (environment.workersDev) return [];
  const own = scriptsOf(environment);
  const wanted = new Set(routePatterns(issuer).map(({ pattern }) => pattern));
  const { hostname } = new URL(issuer);
  return routes
    .filter(({ pattern, script }) => {
      const host = pattern.replace(/^https?:\/\//, "").split("/")[0];
      return (host === hostname || wanted.has(pattern)) && !(script !== undefined && own.has(script));
    })
    .map(({ pattern, script }) => `${pattern} (${script ?? "no Worker"})`);
}
