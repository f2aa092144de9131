/**
 * **Counts the storage calls of one request**: object RPCs, KV operations and D1 round trips, and the rows that D1 reads, by wrapping the bindings.
 * Used for `Server-Timing` if enabled, and by the tests that compare each endpoint with its stated cost.
 */

export interface CallCounts {
  object: number;
  kv: number;
  d1: number;
  /** Rows that D1 has read, as it bills them, in the calls that have ended; counted if the member is present. */
  rows?: number;
}

export type Store = Exclude<keyof CallCounts, "rows">;

/** Makes one call to a store, or does something before and after it. `object` is the name of the object that is called. */
export type AroundCall = (store: Store, call: () => unknown, object?: string) => unknown;

const d1Calls = new Set(["run", "all", "raw"]);

async function firstOf(all: unknown, [column]: readonly unknown[]): Promise<unknown> {
  const row = ((await all) as D1Result<Readonly<Record<string, unknown>>>).results[0];
  if (row === undefined) return null;
  return column === undefined ? row : row[String(column)];
}

/** Statements delegate to the real one. `batch` needs the real one again, so `originals` stores it. */
function wrapDatabase(database: D1Database, around: AroundCall): D1Database {
  const originals = new WeakMap<object, D1PreparedStatement>();
  const wrapStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const call = (): unknown => Reflect.apply(value, object, args);
          // `first` returns no metadata; it is `all` without the other rows.
          const readAll = (): unknown => Reflect.apply(object.all, object, []);
          if (property === "first") return firstOf(around("d1", readAll), args);
          if (d1Calls.has(String(property))) return around("d1", call);
          return property === "bind" ? wrapStatement(call() as D1PreparedStatement) : call();
        };
      },
    });
    originals.set(wrapped, statement);
    return wrapped;
  };
  return new Proxy(database, {
    get(object, property) {
      if (property === "prepare") return (query: string) => wrapStatement(object.prepare(query));
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) =>
          around("d1", () => object.batch(statements.map((statement) => originals.get(statement) ?? statement)));
      }
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A stub's methods are indistinguishable from properties before the call, so every call on it counts. */
function wrapNamespace(namespace: DurableObjectNamespace, around: AroundCall): DurableObjectNamespace {
  const wrapStub = (stub: { readonly name?: string }): object =>
    new Proxy(stub, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => around("object", () => Reflect.apply(value, object, args), stub.name);
      },
    });
  return new Proxy(namespace, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, object, args);
        if (property === "jurisdiction") return wrapNamespace(result as DurableObjectNamespace, around);
        return property === "get" || property === "getByName" ? wrapStub(result as DurableObjectStub) : result;
      };
    },
  });
}

const kvMethods = ["get", "getWithMetadata", "put", "delete", "list"];

function wrapCache(cache: KVNamespace, around: AroundCall): KVNamespace {
  return new Proxy(cache, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      const isCall = kvMethods.includes(String(property));
      return (...args: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, object, args);
        return isCall ? around("kv", call) : call();
      };
    },
  });
}

function wrapBinding(binding: unknown, around: AroundCall): unknown {
  if (typeof binding !== "object" || binding === null) return binding;
  if ("idFromName" in binding) return wrapNamespace(binding as DurableObjectNamespace, around);
  if ("prepare" in binding && "batch" in binding) return wrapDatabase(binding as D1Database, around);
  return "getWithMetadata" in binding ? wrapCache(binding as KVNamespace, around) : binding;
}

/** `env` with storage bindings whose calls go through `around`; other bindings are unchanged. */
export function wrapCalls<Env extends object>(env: Env, around: AroundCall): Env {
  const wrapped: Record<string, unknown> = {};
  for (const [name, binding] of Object.entries(env)) {
    // A Worker that is called by RPC seems to have every member, those of a store too.
    wrapped[name] = name === "HOOKS" ? binding : wrapBinding(binding, around);
  }
  return wrapped as Env;
}

/** `env` with storage bindings that count into `counts`. */
export function countCalls<Env extends object>(env: Env, counts: CallCounts): Env {
  return wrapCalls(env, (store, call) => {
    counts[store] += 1;
    return store === "d1" && counts.rows !== undefined ? countRows(counts, call()) : call();
  });
}

async function countRows(counts: CallCounts, called: unknown): Promise<unknown> {
  const result = await called;
  const results = (Array.isArray(result) ? result : [result]) as readonly Partial<D1Result>[];
  counts.rows = results.reduce((sum, { meta }) => sum + (meta?.rows_read ?? 0), counts.rows ?? 0);
  return result;
}
