import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from "miniflare";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import { type AccountState, type Binding, runningVersion, type Script, type Version } from "./account-state.ts";

/**
 * **Runs the uploaded Workers** of every account in one workerd, with the bindings of their upload, their secrets and version ids, and the databases,
 * which exist before the first Worker. After a change it restarts before the next use, which ends every object; the platform updates objects later.
 */
export class UploadedWorkers {
  readonly #stateDir: string;
  readonly #accounts: () => readonly AccountState[];
  #runtime: Miniflare | undefined;
  #isCurrent = false;
  #starting: Promise<Miniflare> | undefined;

  constructor(stateDir: string, accounts: () => readonly AccountState[]) {
    this.#stateDir = stateDir;
    this.#accounts = accounts;
  }

  /** Called when something was uploaded, created or deleted. */
  change(): void {
    this.#isCurrent = false;
  }

  async ready(): Promise<void> {
    await this.#current();
  }

  async query(database: string, sql: string, params: readonly unknown[]): Promise<unknown[]> {
    const runtime = await this.#current();
    const bound = await runtime.getD1Database(database, "stores");
    const statements = splitSqlQuery(sql)
      .filter((statement) => statement.replace(/--.*$/gm, "").trim() !== "")
      .map((statement) => bound.prepare(statement));
    if (params.length > 0) return [await statements[0]!.bind(...params).all()];
    return statements.length === 0 ? [] : bound.batch(statements);
  }

  /** The keys of a KV namespace, by its id. */
  async keysOf(namespace: string): Promise<string[]> {
    const runtime = await this.#current();
    const { keys } = await (await runtime.getKVNamespace(namespace, "stores")).list();
    return keys.map(({ name }) => name);
  }

  async bucket(name: string) {
    const runtime = await this.#current();
    return runtime.getR2Bucket(name, "stores");
  }

  async stop(): Promise<void> {
    await this.#runtime?.dispose();
  }

  #current(): Promise<Miniflare> {
    // While it restarts, the earlier one is being disposed of.
    if (this.#starting !== undefined) return this.#starting;
    if (this.#runtime !== undefined && this.#isCurrent) return Promise.resolve(this.#runtime);
    this.#starting = this.#restart().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #restart(): Promise<Miniflare> {
    this.#isCurrent = true;
    await this.#runtime?.dispose();
    const accounts = this.#accounts();
    const options = convertV4MiniflareOptions({
      workers: [storesWorker(accounts), ...accounts.flatMap((account) => accountWorkers(account))],
      resourcePersistencePath: this.#stateDir,
      cf: false,
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: () => undefined,
      telemetry: { enabled: false },
    });
    const runtime = new Miniflare(options);
    await runtime.ready;
    this.#runtime = runtime;
    return runtime;
  }
}

/** Binds every database and KV namespace by its id, for the API's own queries. */
function storesWorker(accounts: readonly AccountState[]): V4WorkerOptions {
  const ids = accounts.flatMap(({ databases }) => [...databases.keys()]);
  const namespaces = accounts.flatMap((account) => [...account.namespaces.keys()]);
  return {
    name: "stores",
    modules: [{ type: "ESModule", path: "index.js", contents: "export default { fetch: () => new Response() };" }],
    compatibilityDate: "2026-10-20",
    d1Databases: Object.fromEntries(ids.map((id) => [id, id])),
    kvNamespaces: Object.fromEntries(namespaces.map((id) => [id, id])),
    r2Buckets: Object.fromEntries(accounts.flatMap(({ buckets }) => [...buckets.keys()]).map((name) => [name, name])),
  };
}

/** Omits a Worker with a binding to a missing resource, which the platform would refuse to run too. */
function accountWorkers(account: AccountState): V4WorkerOptions[] {
  const isBucketThere = ({ type, bucket_name: name, jurisdiction = "none" }: Binding) =>
    type !== "r2_bucket" || account.buckets.get(String(name)) === jurisdiction;
  return [...account.scripts.values()].flatMap((script) => {
    const version = runningVersion(script);
    if (version === undefined || version.modules.length === 0) return [];
    const needed = version.bindings.flatMap((binding) => scriptOf(binding) ?? []);
    const isComplete = needed.every((name) => account.scripts.has(name)) && version.bindings.every(isBucketThere);
    return isComplete ? [describeWorker(account, script, version)] : [];
  });
}

function scriptOf(binding: Binding): string | undefined {
  const named = binding.type === "service" ? binding["service"] : binding["script_name"];
  return typeof named === "string" ? named : undefined;
}

/**
 * workerd has no jurisdictions. This main module adds them to the namespaces of a Worker with the variable `JURISDICTION`: an object is reached only
 * within its jurisdiction, and a call without it is an error, because on the platform it would reach another, empty object.
 */
function jurisdictionModule(main: string) {
  const contents = `import { env } from "cloudflare:workers";
    // A service binding seems to have every method.
    const isNamespace = (binding) => Object.prototype.toString.call(binding) === "[object DurableObjectNamespace]";
    const namespace = Object.values(env).find(isNamespace);
    if (namespace !== undefined) {
      const prototype = Object.getPrototypeOf(namespace);
      const { getByName } = prototype;
      prototype.jurisdiction = function (name) {
        if (name !== env.JURISDICTION) throw new Error("the jurisdiction " + name);
        return { getByName: (...args) => Reflect.apply(getByName, this, args) };
      };
      for (const method of ["getByName", "get", "idFromName", "idFromString", "newUniqueId"]) {
        prototype[method] = () => {
          throw new Error(method + " outside of the jurisdiction");
        };
      }
    }
    export * from "./${main}";
    export { default } from "./${main}";`;
  return { type: "ESModule" as const, path: "jurisdiction.js", contents };
}

function describeWorker(account: AccountState, script: Script, version: Version): V4WorkerOptions {
  const { metadata, modules, bindings } = version;
  const of = (type: string) => bindings.filter((binding) => binding.type === type);
  const named = (type: string, member: string) =>
    Object.fromEntries(of(type).map((binding) => [binding.name, String(binding[member])]));
  const variables = Object.fromEntries(
    [...of("plain_text"), ...of("secret_text")].map(({ name, text = "" }) => [name, text]),
  );
  const versionBindings = of("version_metadata").map(({ name }) => [name, { id: version.id, tag: "", timestamp: "" }]);
  const consumed = [...account.queues.values()].filter(({ consumers }) =>
    consumers.some((each) => each.script === script.name),
  );
  return {
    name: `${account.id}:${script.name}`,
    modules: [
      ...("JURISDICTION" in variables ? [jurisdictionModule(modules[0]!.name)] : []),
      ...modules.map(({ name, text }) => ({ type: "ESModule" as const, path: name, contents: text })),
    ],
    compatibilityDate: metadata.compatibility_date,
    compatibilityFlags: [...(metadata.compatibility_flags ?? [])],
    bindings: { ...variables, ...Object.fromEntries(versionBindings) },
    d1Databases: named("d1", "id"),
    kvNamespaces: named("kv_namespace", "namespace_id"),
    r2Buckets: named("r2_bucket", "bucket_name"),
    queueProducers: named("queue", "queue_name"),
    queueConsumers: Object.fromEntries(consumed.map(({ name }) => [name, { maxBatchTimeout: 1 }])),
    serviceBindings: Object.fromEntries(
      of("service").map(({ name, service }) => [name, `${account.id}:${String(service)}`]),
    ),
    durableObjects: Object.fromEntries(
      of("durable_object_namespace").map(({ name, class_name, script_name }) => [
        name,
        {
          className: String(class_name),
          useSQLite: true,
          ...(script_name === undefined || script_name === script.name
            ? {}
            : { scriptName: `${account.id}:${String(script_name)}` }),
        },
      ]),
    ),
    unsafeDirectSockets: [{ host: "127.0.0.1", port: script.port }],
  };
}
