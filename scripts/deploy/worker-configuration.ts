/**
 * **The wrangler configuration of a Worker in an environment**, generated from the wrangler file in the tree, which has the bindings for local runs,
 * and from the environment. Names begin with the environment's prefix; an unknown member is an error, because it would be deployed with a local name.
 */

import { dirname, join, relative } from "node:path";
import { type Unstable_RawConfig as RawConfig, experimental_readRawConfig as readRawConfig } from "wrangler";
import { mainModule } from "../../packages/edge-op/src/builds.ts";
import { compactWorker, repositoryRoot, shapes, type WorkerName } from "../../packages/edge-op/src/workers.ts";
import { ownedPaths } from "../../packages/workers/src/paths.ts";
import { type BindingName, type WorkerRow, workers } from "../../packages/workers/src/workers.ts";
import { certificateHost } from "./certificate-host.ts";
import type { Environment } from "./environment.ts";
import { deployedWorkerName, frontWorker, objectsWorker, workersOf } from "./shape.ts";
import { uploadsModules } from "./write-worker.ts";

export interface StoreIds {
  /** By binding. */
  readonly databases: Readonly<Record<string, string>>;
  readonly namespaces: Readonly<Record<string, string>>;
}

export interface DeploymentValues {
  readonly account: string;
  readonly issuer: string;
  readonly zone: string | undefined;
  readonly ids: StoreIds;
  /** SHA-256 of the token with which Workers report their facts. */
  readonly factsTokenHash: string;
}

/** All resources that an environment needs in the account. */
export interface StoreNames {
  /** Database names by binding. */
  readonly databases: Readonly<Record<string, string>>;
  readonly namespaces: Readonly<Record<string, string>>;
  readonly buckets: readonly string[];
  readonly queues: readonly string[];
  /** Consuming Workers by queue. */
  readonly consumers: Readonly<Record<string, string>>;
}

const knownMembers = new Set([
  "name",
  "main",
  "compatibility_date",
  "compatibility_flags",
  "workers_dev",
  "keep_names",
  "vars",
  "version_metadata",
  "services",
  "d1_databases",
  "kv_namespaces",
  "r2_buckets",
  "analytics_engine_datasets",
  "durable_objects",
  "migrations",
  "queues",
  "ratelimits",
  "triggers",
]);

/** Used in `resources`: omits a binding that the Workers do not require. */
export const noResource = "none";
const localPrefix = "edge-op";
/** The deliveries of a message before it goes to the dead-letter queue. */
const mostDeliveries = 10;
const firstLocalNamespace = 1_000;

export function workerOf(name: WorkerName) {
  return [...shapes.separate, ...shapes.compact].find((each) => each.name === name)!;
}

export function readWorkerFile(name: WorkerName): RawConfig {
  const { config } = workerOf(name);
  const { rawConfig } = readRawConfig({ config: join(repositoryRoot, config) });
  const unknown = Object.keys(rawConfig).filter((member) => !knownMembers.has(member));
  if (unknown.length > 0) throw new Error(`${config}: ${unknown.join(", ")} is not known to npm run deploy`);
  return rawConfig;
}

/** `edge-op-audit` → `<prefix>-audit`; datasets are written with underscores. */
function deployedName({ prefix }: Environment, local: string): string {
  if (local.startsWith("edge_op")) return prefix.replaceAll("-", "_") + local.slice(localPrefix.length);
  if (!local.startsWith(localPrefix)) throw new Error(`"${local}" in a wrangler file must begin with ${localPrefix}`);
  return prefix + local.slice(localPrefix.length);
}

export function storeNames(environment: Environment): StoreNames {
  const files = workersOf(environment).map(({ name }) => ({ name, file: readWorkerFile(name) }));
  const named = (binding: string, local: string) => environment.resources[binding] ?? deployedName(environment, local);
  const databases = files.flatMap(({ file }) => file.d1_databases ?? []);
  const namespaces = files.flatMap(({ file }) => file.kv_namespaces ?? []);
  const consumed = files.flatMap(({ name, file }) =>
    (file.queues?.consumers ?? []).map(({ queue }) => ({ name, queue })),
  );
  const queueName = queueNames(environment);
  return {
    databases: Object.fromEntries(databases.map((each) => [each.binding, named(each.binding, each.database_name!)])),
    namespaces: Object.fromEntries(
      namespaces.map(({ binding }) => [binding, named(binding, `${localPrefix}-${binding.toLowerCase()}`)]),
    ),
    buckets: [...new Set(files.flatMap(({ file }) => bucketsOf(file, environment).map((each) => each.bucket_name)))],
    queues: [...new Set(consumed.flatMap(({ queue }) => [queueName(queue), deadLetters(queueName(queue))]))],
    consumers: Object.fromEntries(
      consumed.map(({ name, queue }) => [queueName(queue), deployedWorkerName(environment.prefix, name)]),
    ),
  };
}

/** A bucket is optional, because R2 must be enabled in the account; it is bound if `resources` names it. */
function bucketsOf(file: RawConfig, { resources, jurisdiction }: Environment) {
  const place = jurisdiction === "none" ? {} : { jurisdiction };
  return (file.r2_buckets ?? []).flatMap(({ binding }) => {
    const name = resources[binding];
    return name === undefined ? [] : [{ binding, bucket_name: name, ...place }];
  });
}

function deadLetters(queue: string): string {
  return `${queue}-dead`;
}

/** The operator's Worker, if `resources` names it: it is not part of a local run, and has a name of its own. */
function hooksOf(name: WorkerName, { resources }: Environment) {
  const binding = "HOOKS" satisfies BindingName;
  const service = resources[binding];
  const isBound = name === compactWorker.name || (workers[name] as WorkerRow).binds.includes(binding);
  return service === undefined || !isBound ? [] : [{ binding, service }];
}

/** A queue may have another name, set by the binding of its producer. */
function queueNames(environment: Environment): (local: string) => string {
  const producers = workersOf(environment).flatMap(({ name }) => readWorkerFile(name).queues?.producers ?? []);
  return (local) => {
    const binding = producers.find(({ queue }) => queue === local)?.binding;
    return (binding !== undefined && environment.resources[binding]) || deployedName(environment, local);
  };
}

/** Whether a Worker makes pages or mails and therefore has their settings. */
export function hasBranding(name: WorkerName): boolean {
  return name === compactWorker.name || (workers[name] as WorkerRow).hasBranding === true;
}

/**
 * Whether the platform runs a Worker near its objects and D1. The compact Worker stays near the caller, because most of its requests wait for one
 * call at most.
 */
export function isNearStores(name: WorkerName): boolean {
  return name !== compactWorker.name && (workers[name] as WorkerRow).isNearStores === true;
}

/** The paths that each endpoint Worker serves directly, as route patterns; the front door has the entire host as its custom domain. */
export function routePatterns(issuer: string): { readonly worker: WorkerName; readonly pattern: string }[] {
  const { host } = new URL(issuer);
  // A pattern without a wildcard does not match a request with a query.
  return Object.entries(ownedPaths).flatMap(([worker, { paths, trees }]) =>
    [...paths, ...trees].map((path) => ({ worker: worker as WorkerName, pattern: `${host}${path}*` })),
  );
}

export function workerConfiguration(
  name: WorkerName,
  environment: Environment,
  values: DeploymentValues,
  directory: string,
): Record<string, unknown> {
  const file = readWorkerFile(name);
  const { platform } = environment;
  const worker = (local: string) => deployedWorkerName(environment.prefix, local as WorkerName);
  const isObjects = name === objectsWorker(environment);
  return {
    name: worker(name),
    account_id: values.account,
    main: join(name, mainModule),
    ...uploadsModules,
    compatibility_date: file.compatibility_date,
    compatibility_flags: file.compatibility_flags ?? [],
    keep_names: false,
    workers_dev: environment.workersDev && name === frontWorker(environment),
    // A preview would serve production state under another origin.
    preview_urls: false,
    ...routesOf(name, environment, values),
    ...(isNearStores(name) ? { placement: { mode: "smart" } } : {}),
    limits: { cpu_ms: isObjects ? platform.objectCpuMs : platform.cpuMs },
    observability: observability(environment),
    version_metadata: file.version_metadata,
    vars: {
      ...environment.variables,
      ...(hasBranding(name) ? environment.authVariables : {}),
      ISSUER: values.issuer,
      DEPLOYMENT_ENVIRONMENT: environment.name,
      FACTS_TOKEN_SHA256: values.factsTokenHash,
    },
    ...bindings(name, file, environment, values, directory),
    durable_objects: {
      bindings: (file.durable_objects?.bindings ?? []).map((binding) => ({
        ...binding,
        ...(binding.script_name === undefined ? {} : { script_name: worker(binding.script_name) }),
      })),
      ...(isObjects ? { code_update_strategy: updateStrategy(platform.objectUpdateDelaySeconds) } : {}),
    },
    ...(file.migrations === undefined ? {} : { migrations: file.migrations }),
    // The compact Worker has the name of op-state: what is not listed is deleted when the shape changes.
    ...(file.triggers ? { triggers: file.triggers } : isObjects ? { triggers: { crons: [] } } : {}),
  };
}

function updateStrategy(delaySeconds: number) {
  return delaySeconds === 0 ? { mode: "immediate" } : { mode: "deferred", max_delay: delaySeconds };
}

function observability({ platform }: Environment) {
  const stored = { logs: platform.logStore, traces: platform.traceStore };
  return {
    enabled: true,
    // Codes, states and hints are parameters of URLs, so they must not be logged.
    redact_query_string: true,
    logs: {
      enabled: platform.logSampling > 0,
      head_sampling_rate: platform.logSampling,
      // The platform's own log line of a request contains its headers; the Workers write their own lines.
      invocation_logs: false,
      persist: stored.logs,
      destinations: platform.logDestinations,
    },
    traces: {
      enabled: platform.traceSampling > 0,
      head_sampling_rate: platform.traceSampling,
      persist: stored.traces,
      destinations: platform.traceDestinations,
    },
  };
}

function routesOf(name: WorkerName, environment: Environment, values: DeploymentValues) {
  if (environment.workersDev) return {};
  if (name === frontWorker(environment)) {
    const hosts = new Set([new URL(values.issuer).host, certificateHost(environment) ?? []].flat());
    return { routes: [...hosts].map((pattern) => ({ pattern, custom_domain: true })) };
  }
  const routes = routePatterns(values.issuer).filter(({ worker }) => worker === name);
  return routes.length === 0 ? {} : { routes: routes.map(({ pattern }) => ({ pattern, zone_name: values.zone })) };
}

function bindings(
  name: WorkerName,
  file: RawConfig,
  environment: Environment,
  { ids }: DeploymentValues,
  directory: string,
) {
  const { platform } = environment;
  const isObjects = name === objectsWorker(environment);
  const rateLimits = new Map([
    ["CLIENT_RATE_LIMIT", platform.clientRateLimit],
    ["FAILED_AUTHENTICATION_RATE_LIMIT", platform.failedAuthenticationRateLimit],
    ["ADDRESS_RATE_LIMIT", platform.addressRateLimit],
  ]);
  const queueName = queueNames(environment);
  const names = storeNames(environment);
  return {
    services: [
      ...(file.services ?? []).map((each) => ({
        ...each,
        service: deployedWorkerName(environment.prefix, each.service as WorkerName),
      })),
      ...hooksOf(name, environment),
    ],
    d1_databases: (file.d1_databases ?? []).map(({ binding, migrations_dir }) => ({
      binding,
      database_name: names.databases[binding],
      database_id: ids.databases[binding],
      migrations_dir: relative(
        directory,
        join(repositoryRoot, dirname(workerOf(name).config), migrations_dir ?? "migrations"),
      ),
    })),
    kv_namespaces: (file.kv_namespaces ?? []).map(({ binding }) => ({ binding, id: ids.namespaces[binding] })),
    r2_buckets: bucketsOf(file, environment),
    // No local run has this binding, so it is in no wrangler file.
    ...(isObjects && environment.variables["MAIL_PROVIDER"] === "cloudflare"
      ? { send_email: [{ name: "EMAIL" satisfies BindingName }] }
      : {}),
    analytics_engine_datasets: (file.analytics_engine_datasets ?? []).flatMap(({ binding, dataset }) => {
      const name = environment.resources[binding] ?? deployedName(environment, dataset ?? localPrefix);
      return name === noResource ? [] : [{ binding, dataset: name }];
    }),
    ratelimits: (file.ratelimits ?? []).map((each) => {
      const limit = rateLimits.get(each.name);
      return {
        name: each.name,
        namespace_id: String(platform.rateLimitNamespace * 1000 + Number(each.namespace_id) - firstLocalNamespace),
        simple: limit === undefined ? each.simple : { limit: limit.limit, period: limit.periodSeconds },
      };
    }),
    queues: {
      producers: (file.queues?.producers ?? []).map((each) => ({ ...each, queue: queueName(each.queue ?? "") })),
      consumers: (file.queues?.consumers ?? []).map((each) => ({
        ...each,
        queue: queueName(each.queue),
        max_retries: each.max_retries ?? mostDeliveries,
        dead_letter_queue: deadLetters(queueName(each.queue)),
      })),
    },
  };
}
