import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import {
  convertV4MiniflareOptions,
  Log,
  LogLevel,
  Miniflare,
  type MiniflareOptions,
  type V4WorkerOptions,
  type V4WorkerOptionsShape,
} from "miniflare";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { adminClientId, adminClientRow, findAdminClient, writeAdminClient } from "./admin-client.ts";
import { bundleWorker } from "./bundle-worker.ts";
import { loadDevelopmentSecrets } from "./development-secrets.ts";
import { endRuntimesWithThisProcess } from "./end-with-parent.ts";
import { findFreePort, isPortFree } from "./free-port.ts";
import { IsolateProcess } from "./isolate-process.ts";
import { migrateDatabase } from "./migrate-database.ts";
import { nameObjects } from "./name-objects.ts";
import { basicAuthorization, postForm } from "./provider-api.ts";
import { repositoryRoot, type WorkerName, workers } from "./workers.ts";

/**
 * **Runs the whole provider from this process**: every Worker, from production bundles, in one workerd with its own sockets
 * (wrangler's development proxy is twenty times slower). The database is migrated and contains the first admin client. `npm start`,
 * the black-box tests, the load smoke tests and the benchmark use it.
 */
export interface LocalProviderOptions {
  /** A free port by default. */
  readonly port?: number;
  readonly host?: string;
  /** The state directory; by default a temporary one that is deleted at the end. */
  readonly stateDir?: string;
  readonly vars?: Partial<SettingsVariables>;
  /** Also opens a socket to each endpoint Worker, like a route of its own. */
  readonly direct?: boolean;
  /** Replaces the entry point of a Worker; tests use it to make objects fail. */
  readonly entryPoints?: Partial<Record<WorkerName, string>>;
  /** Further isolates of each endpoint Worker, on direct sockets, as in production; one workerd has a single one. */
  readonly extraIsolates?: number;
  /** Allows {@link LocalProvider.startIsolate}. */
  readonly isolateProcesses?: boolean;
  readonly onLog?: (line: LogLine) => void;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

export interface LocalProvider {
  readonly origin: string;
  readonly issuer: string;
  readonly admin: { readonly client_id: string; readonly client_secret: string };
  /** The origins of Workers with a direct socket; further isolates are named `op-token#2`, …. */
  readonly direct: Readonly<Record<string, string>>;
  /** The ids of the stored objects of a class. */
  objectIds(className: string): Promise<string[]>;
  /**
   * Stops every isolate and object at once and restarts on the same state, origin and sockets, with the Workers built again from
   * their sources and the secrets read again. If the build fails, nothing is stopped.
   */
  restart(): Promise<void>;
  /** Starts an isolate of each endpoint Worker in a process of its own; a restart of the provider does not end it. Needs `isolateProcesses`. */
  startIsolate(): Promise<IsolateProcess>;
  stop(): Promise<void>;
}

export class PortTakenError extends Error {
  override readonly name = "PortTakenError";

  constructor(port: number) {
    super(`Port ${port} is taken.`);
  }
}

interface Socket {
  readonly host: string;
  readonly port: number;
}

/** Ports are chosen once, so that a restart keeps every origin. */
async function chooseSockets(options: LocalProviderOptions): Promise<Map<string, Socket>> {
  const host = options.host ?? "127.0.0.1";
  const port = options.port ?? (await findFreePort(host));
  if (!(await isPortFree(host, port))) throw new PortTakenError(port);
  const sockets = new Map([["op", { host, port }]]);
  for (const name of endpointNames(options)) sockets.set(name, { host, port: await findFreePort(host) });
  return sockets;
}

/** One for each endpoint Worker of an isolate. */
async function chooseEndpointSockets(host = "127.0.0.1"): Promise<Map<string, Socket>> {
  const sockets = new Map<string, Socket>();
  for (const name of endpointNames({ direct: true })) sockets.set(name, { host, port: await findFreePort(host) });
  return sockets;
}

function originsOf(sockets: ReadonlyMap<string, Socket>): Readonly<Record<string, string>> {
  return Object.fromEntries([...sockets].map(([name, { port }]) => [name, `http://localhost:${port}`]));
}

function isolateNames(name: WorkerName, options: LocalProviderOptions): string[] {
  const further = name === "op-state" || name === "op" ? 0 : (options.extraIsolates ?? 0);
  return [name, ...Array.from({ length: further }, (_, index) => `${name}#${index + 2}`)];
}

function endpointNames(options: LocalProviderOptions): string[] {
  const replaced = Object.keys(options.entryPoints ?? {}).filter((name) => name === "op-state");
  const endpoints = workers.map(({ name }) => name).filter((name) => name !== "op" && name !== "op-state");
  return [
    ...replaced,
    ...endpoints.flatMap((name) => {
      const [own, ...further] = isolateNames(name, options);
      return [...(options.direct === true ? [own!] : []), ...further];
    }),
  ];
}

async function describeWorkers(
  options: LocalProviderOptions,
  bindings: Readonly<Record<string, string>>,
  sockets: ReadonlyMap<string, Socket>,
): Promise<V4WorkerOptions[]> {
  const described = await Promise.all(
    // The first one listed uses Miniflare's own port, which is not used.
    workers.map(async ({ name, config, entry }) => {
      const workerOptions: V4WorkerOptionsShape = readWorkerOptions(join(repositoryRoot, config)).workerOptions;
      const contents = await bundleWorker(options.entryPoints?.[name] ?? entry);
      return isolateNames(name, options).map((isolate): V4WorkerOptions => {
        const socket = sockets.get(isolate);
        return {
          ...workerOptions,
          name: isolate,
          modules: [{ type: "ESModule", path: "index.js", contents }],
          bindings: { ...workerOptions.bindings, ...bindings },
          // Otherwise a further isolate would consume messages instead of the first one.
          ...(isolate === name ? {} : { queueConsumers: {} }),
          ...(socket === undefined ? {} : { unsafeDirectSockets: [socket] }),
        };
      });
    }),
  );
  return described.flat();
}

/** Does the set-up of a deployment: the tables and the first admin client. */
async function setUp(runtime: Miniflare, issuer: string, masterKey: string, secret: string): Promise<void> {
  const database = await runtime.getD1Database("DB", "op-state");
  await migrateDatabase(database);
  const row = await adminClientRow(issuer, masterKey, secret);
  if ((await database.prepare(findAdminClient(row)).first()) !== null) return;
  await database.batch(writeAdminClient(row, Date.now()).map((statement) => database.prepare(statement)));
  // Deletes copies of an earlier issuer or secret: in a deployment, set-up precedes the first copy.
  const cache = await runtime.getKVNamespace("CACHE", "op-token");
  const { keys } = await cache.list();
  await Promise.all(keys.map(({ name }) => cache.delete(name)));
}

export async function startLocalProvider(options: LocalProviderOptions = {}): Promise<LocalProvider> {
  const sockets = await chooseSockets(options);
  const front = sockets.get("op")!;
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), "edge-op-"));
  let secrets = loadDevelopmentSecrets(stateDir);
  const origin = `http://localhost:${front.port}`;
  const issuer = options.vars?.ISSUER ?? origin;
  const bindings = () => {
    const { adminClientSecret: _, ...keys } = secrets;
    return { ...options.vars, ISSUER: issuer, ...keys };
  };
  const resources = join(stateDir, "state", "v3");
  const registry = join(stateDir, "registry");
  const describe = async () => ({
    ...convertV4MiniflareOptions({
      workers: await describeWorkers(options, bindings(), sockets),
      resourcePersistencePath: resources,
      isolatedResourcePersistencePath: resources,
      ...(options.isolateProcesses === true ? { unsafeDevRegistryPath: registry } : {}),
      cf: false,
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ level, message }) => options.onLog?.({ level, message }),
      telemetry: { enabled: false },
    }),
    unsafeEnableSharedStorage: options.isolateProcesses === true,
  });
  endRuntimesWithThisProcess();
  const start = async (description: MiniflareOptions): Promise<Miniflare> => {
    const started = new Miniflare(description);
    try {
      await started.ready;
      await setUp(started, issuer, secrets.OP_MASTER_KEY, secrets.adminClientSecret);
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
    const own = await chooseEndpointSockets(options.host);
    const described = await describeWorkers({ ...options, extraIsolates: 0 }, bindings(), own);
    const endpoints = described
      .filter(({ name }) => own.has(name!))
      .map((worker) => ({ ...worker, queueConsumers: {} }));
    const isolate = await IsolateProcess.start({ workers: endpoints, registry, resources }, originsOf(own));
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
    direct: originsOf(new Map([...sockets].filter(([name]) => name !== "op"))),
    objectIds: (className) => runtime.listDurableObjectIds(className, "op-state"),
    restart: async () => {
      secrets = loadDevelopmentSecrets(stateDir);
      const description = await describe();
      await runtime.dispose();
      runtime = await start(description);
    },
    startIsolate,
    stop,
  };
}
