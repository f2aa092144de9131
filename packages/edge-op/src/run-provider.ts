import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeploymentVariables } from "@edge-op/op-auth/runtime/deployment";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type MiniflareOptions } from "miniflare";
import {
  adminClientId,
  adminClientRow,
  areAdminSecrets,
  clientSecretStatements,
  findAdminClient,
  writeAdminClient,
} from "./admin-client.ts";
import { type Application, describeApplications, placeApplications } from "./applications.ts";
import type { Builds, BuiltWorker } from "./builds.ts";
import {
  chooseDirectSockets,
  describeWorkers,
  directOrigins,
  frontDoorOf,
  type Socket,
  type WorkerChoice,
} from "./describe-workers.ts";
import { type Distances, farRegion } from "./distant-stores.ts";
import { findFreePort, isPortFree } from "./free-port.ts";
import { IsolateProcess } from "./isolate-process.ts";
import { type LocalHooks, withHooks } from "./local-hooks.ts";
import { migrateDatabase } from "./migrate-database.ts";
import { type DataPoint, readDataPoints, readSpans, type Span, withObserver } from "./observer.ts";
import { type DevelopmentSecrets, loadDevelopmentSecrets, nameObjects, placeWorkers } from "./place-workers.ts";
import { basicAuthorization, postForm } from "./provider-api.ts";
import { withRateLimiter } from "./rate-limiter.ts";
import { endRuntimesWithThisProcess, type LogLine } from "./runtime-process.ts";
import {
  clearCache,
  executeStatements,
  listBackups,
  readBackup,
  type Statement,
  withStoreWorker,
} from "./store-worker.ts";
import { type ServePage, withDevelopmentPages } from "./with-development-pages.ts";
import { type Shape, stateScript, type WorkerName } from "./workers.ts";

export interface LocalProviderOptions {
  /** A free port by default. */
  readonly port?: number;
  readonly host?: string;
  /** The state directory; by default a temporary one that is deleted at the end. */
  readonly stateDir?: string;
  readonly vars?: Partial<SettingsVariables & DeploymentVariables> & {
    readonly RESEND_API_KEY?: string;
    readonly RESEND_WEBHOOK_SECRET?: string;
  };
  /** Separate Workers by default. */
  readonly shape?: Shape;
  /** Also opens a socket to each endpoint Worker, like a route of its own. */
  readonly direct?: boolean;
  /** Replaces the entry point of a Worker; tests use it to make objects fail. */
  readonly entryPoints?: Partial<Record<WorkerName, string>>;
  /** Additional isolates of each endpoint Worker or of the compact one, on direct sockets, as in production; one workerd has only one. */
  readonly extraIsolates?: number;
  /** Relays between the revocation shards and the isolates, as after opening a generation of relays; none by default. */
  readonly relays?: number;
  /**
   * Round trips to the stores, as in a deployment; none by default. With `far` there is a second region, and the additional isolates are in it.
   */
  readonly distances?: Distances;
  /** Workers that are not built from the sources, by isolate name (`op-state`, `op-token#2`), such as those of the previous release. */
  readonly builtWorkers?: Readonly<Record<string, BuiltWorker>>;
  /** The newest migration to apply; all of them by default. */
  readonly lastMigration?: string;
  /** Workers beside the provider, by name. */
  readonly applications?: Readonly<Record<string, Application>>;
  /** The Worker that is bound as `HOOKS`; `ENABLED_HOOKS` names what it implements. */
  readonly hooks?: LocalHooks;
  /** Enables {@link LocalProvider.startIsolate}. */
  readonly isolateProcesses?: boolean;
  /** Keeps spans and data points for {@link LocalProvider.readSpans} and {@link LocalProvider.readDataPoints}. */
  readonly observe?: boolean;
  readonly onLog?: (line: LogLine) => void;
  /** Serves the pages of development in front of the provider. */
  readonly pages?: ServePage;
}

export interface LocalProvider {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
  /** The origins of Workers with a direct socket; additional isolates are named `op-token#2`, …. */
  readonly direct: Readonly<Record<string, string>>;
  /** The resource identifiers of the applications: their URLs. */
  readonly resources: Readonly<Record<string, string>>;
  /** The ids of the stored objects of a class. */
  objectIds(className: string): Promise<string[]>;
  /**
   * Stops every isolate and object at once and restarts on the same state, origin and sockets, with the Workers built again from
   * their sources and the secrets read again. If the build fails, nothing is stopped.
   */
  restart(): Promise<void>;
  /** Direct access, as an operator has it, to the database, the bucket of backups and the key. */
  readonly stores: {
    readonly masterKey: string;
    /** In one transaction; returns the rows of each. */
    execute(statements: readonly Statement[]): Promise<readonly Readonly<Record<string, unknown>>[][]>;
    listBackups(): Promise<readonly string[]>;
    readBackup(key: string): Promise<Uint8Array<ArrayBuffer>>;
  };
  /** Stores a given secret for a client; it is in force after the next change of the client. */
  setClientSecret(clientId: string, secret: string): Promise<void>;
  /** Starts an isolate of each endpoint Worker in a process of its own; a restart of the provider does not end it. Requires `isolateProcesses`. */
  startIsolate(): Promise<IsolateProcess>;
  /** The spans of all requests since the last start; requires `observe`. */
  readSpans(): Promise<readonly Span[]>;
  /** The data points written to `METRICS` since the last start; requires `observe`. */
  readDataPoints(): Promise<readonly DataPoint[]>;
  stop(): Promise<void>;
}

export class PortTakenError extends Error {
  override readonly name = "PortTakenError";

  constructor(port: number) {
    super(`Port ${port} is taken.`);
  }
}

/** Local runs are for trying out, so unregistered clients may request authorization. Deployments set their own policy. */
export const openToAgents = { CLIENT_DOCUMENTS: "ask", CLIENT_REGISTRATION: "open" } as const;

const localHost = "127.0.0.1";

/** Ports are chosen once, so that a restart keeps every origin. */
async function chooseSockets(options: LocalProviderOptions): Promise<Map<string, Socket>> {
  const host = options.host ?? localHost;
  const port = options.port ?? (await findFreePort(host));
  if (!(await isPortFree(host, port))) throw new PortTakenError(port);
  return new Map([[frontDoorOf(options.shape), { host, port }], ...(await chooseDirectSockets(options, host))]);
}

/** Does the set-up of a deployment: the tables and the first admin client. */
async function setUp(
  runtime: Miniflare,
  issuer: string,
  secrets: DevelopmentSecrets,
  builds: Builds,
  { lastMigration, relays = 0, distances }: LocalProviderOptions,
): Promise<void> {
  await Promise.all([
    migrateDatabase(runtime, "DB", await builds.migrations("DB"), lastMigration),
    migrateDatabase(runtime, "AUDIT_DB", await builds.migrations("AUDIT_DB")),
  ]);
  const regions = distances?.far === undefined ? ["wnam"] : ["wnam", farRegion];
  if (relays > 0) await openRelays(runtime, regions, relays);
  const row = await adminClientRow(issuer, secrets.OP_MASTER_KEY, secrets.adminClientSecret);
  const [found = []] = await executeStatements(runtime, "DB", [{ sql: findAdminClient(row) }]);
  if (await areAdminSecrets(secrets, secrets.adminClientSecret, found)) return;
  if (distances?.far !== undefined) await addFarRegion(runtime);
  const statements = writeAdminClient(row, Date.now());
  await executeStatements(
    runtime,
    "DB",
    statements.map((sql) => ({ sql })),
  );
  // Deletes copies of an earlier issuer or secret: in a deployment, set-up precedes the first copy.
  await clearCache(runtime);
}

/** Opens the first generation of relays, unless one was opened before. */
async function openRelays(runtime: Miniflare, names: readonly string[], relays: number): Promise<void> {
  const sql = `INSERT OR IGNORE INTO shard_generations (store, generation, regions, minted_from_ms) VALUES ('relay', 1, ?1, 0)`;
  const regions = Object.fromEntries(names.map((name) => [name, { shards: relays, hint: name }]));
  await executeStatements(runtime, "DB", [{ sql, parameters: [JSON.stringify(regions)] }]);
}

/** Adds the second region to the first generation of every store, before any object exists. */
async function addFarRegion(runtime: Miniflare): Promise<void> {
  const sql = `UPDATE shard_generations SET regions = json_set(regions, '$.${farRegion}', json(?1)) WHERE store <> 'relay'`;
  await executeStatements(runtime, "DB", [{ sql, parameters: [JSON.stringify({ shards: 4, hint: farRegion })] }]);
}

export async function runProvider(builds: Builds, options: LocalProviderOptions = {}): Promise<LocalProvider> {
  const sockets = await chooseSockets(options);
  const applications = await placeApplications(options.applications ?? {}, options.host ?? localHost);
  const front = sockets.get(frontDoorOf(options.shape))!;
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), "edge-op-"));
  let secrets = loadDevelopmentSecrets(stateDir);
  const origin = `http://localhost:${front.port}`;
  const issuer = options.vars?.ISSUER ?? origin;
  const bindings = () => {
    const { adminClientSecret: _, ...keys } = secrets;
    return { ...openToAgents, ...options.vars, ISSUER: issuer, ...keys };
  };
  const resources = join(stateDir, "state", "v3");
  const registry = join(stateDir, "registry");
  const describeProvider = async (choice: WorkerChoice, own: ReadonlyMap<string, Socket>) => {
    const workers = await describeWorkers(builds, choice, bindings(), own);
    return options.distances === undefined ? workers : placeWorkers(builds, workers, options.distances);
  };
  const describedWorkers = async () => {
    const provider = await describeProvider(options, sockets);
    const hooked = options.hooks === undefined ? provider : await withHooks(provider, options.hooks);
    const described = options.pages === undefined ? hooked : withDevelopmentPages(hooked, front, options.pages);
    return withRateLimiter(withStoreWorker(options.observe === true ? withObserver(described) : described));
  };
  const describe = async () => ({
    ...convertV4MiniflareOptions({
      workers: [
        ...(await describedWorkers()),
        ...(await describeApplications(builds, applications, options.shape ?? "separate", issuer)),
      ],
      resourcePersistencePath: resources,
      isolatedResourcePersistencePath: resources,
      ...(options.isolateProcesses === true ? { unsafeDevRegistryPath: registry } : {}),
      cf: false,
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ level, message }) => options.onLog?.({ level, message }),
      telemetry: { enabled: false },
    }),
    unsafeObservability: options.observe === true,
    unsafeEnableSharedStorage: options.isolateProcesses === true,
  });
  endRuntimesWithThisProcess();
  const start = async (description: MiniflareOptions): Promise<Miniflare> => {
    const started = new Miniflare(description);
    try {
      await started.ready;
      await setUp(started, issuer, secrets, builds, options);
      return started;
    } catch (error) {
      await started.dispose();
      throw error;
    }
  };
  let runtime = await start(await describe());

  const isolates: IsolateProcess[] = [];
  const startIsolate = async (): Promise<IsolateProcess> => {
    if (options.isolateProcesses !== true) throw new Error("startIsolate needs the option isolateProcesses");
    // The first token makes the provider write its generation table.
    const credentials = { client_id: adminClientId, client_secret: secrets.adminClientSecret };
    const form = { grant_type: "client_credentials" };
    await postForm(`${origin}/token`, form, { authorization: basicAuthorization(credentials) });
    await nameObjects(runtime);
    // This also applies to a compact Worker, whose objects have the same script.
    const endpoints = { shape: "separate", direct: true } as const;
    const own = await chooseDirectSockets(endpoints, options.host ?? localHost);
    const described = await describeProvider({ ...options, ...endpoints, extraIsolates: 0 }, own);
    const served = described.filter(({ name }) => own.has(name!)).map((worker) => ({ ...worker, queueConsumers: {} }));
    const origins = directOrigins(endpoints, own);
    const workers = withRateLimiter(served);
    const isolate = await IsolateProcess.start({ workers, registry, resources }, origins, options.onLog);
    isolates.push(isolate);
    return isolate;
  };

  const stop = async (): Promise<void> => {
    await Promise.all(isolates.map((isolate) => isolate.kill()));
    await runtime.dispose();
    if (options.stateDir === undefined) rmSync(stateDir, { recursive: true, force: true });
  };
  return {
    origin,
    issuer,
    admin: { client_id: adminClientId, client_secret: secrets.adminClientSecret },
    direct: directOrigins(options, sockets),
    resources: Object.fromEntries(applications.map(({ name, resource }) => [name, resource])),
    objectIds: (className) => runtime.listDurableObjectIds(className, stateScript),
    restart: async () => {
      secrets = loadDevelopmentSecrets(stateDir);
      const description = await describe();
      await runtime.dispose();
      runtime = await start(description);
    },
    stores: {
      masterKey: secrets.OP_MASTER_KEY,
      execute: (statements) => executeStatements(runtime, "DB", statements),
      listBackups: () => listBackups(runtime),
      readBackup: (key) => readBackup(runtime, key),
    },
    setClientSecret: async (clientId, secret) => {
      await executeStatements(runtime, "DB", await clientSecretStatements(secrets.OP_MASTER_KEY, clientId, secret));
    },
    startIsolate,
    readSpans: () => readSpans(runtime),
    readDataPoints: () => readDataPoints(runtime),
    stop,
  };
}
