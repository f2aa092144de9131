/**
 * **Counts the storage calls of one request**: object RPCs, KV operations and D1 round trips, by wrapping the bindings. Used for `Server-Timing` if
 * enabled, and by the tests that compare each endpoint with its stated cost.
 */

export interface CallCounts {
  object: number;
  kv: number;
  d1: number;
}

const d1Calls = new Set(["first", "run", "all", "raw"]);

/** Makes a call of a store, or does something else around it. Its result is the caller's. */
export type AroundCall = (
  store: keyof CallCounts,
  call: () => unknown,
  method: string,
  args: readonly unknown[],
) => unknown;

function aroundMethods<T extends object>(
  target: T,
  store: keyof CallCounts,
  around: AroundCall,
  isCall: (method: string) => boolean = () => true,
): T {
  return new Proxy(target, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function" || typeof property !== "string") return value;
      return (...args: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, object, args);
        return isCall(property) ? around(store, call, property, args) : call();
      };
    },
  });
}

/** Statements delegate to the real one. `batch` needs the real one again, so `unwrap` stores it. */
function aroundDatabase(database: D1Database, around: AroundCall): D1Database {
  const originals = new WeakMap<object, D1PreparedStatement>();
  const aroundStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const call = (): unknown => Reflect.apply(value, object, args);
          if (property === "bind") return aroundStatement(call() as D1PreparedStatement);
          return d1Calls.has(String(property)) ? around("d1", call, String(property), args) : call();
        };
      },
    });
    originals.set(wrapped, statement);
    return wrapped;
  };
  return new Proxy(database, {
    get(object, property) {
      if (property === "prepare") return (query: string) => aroundStatement(object.prepare(query));
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) => {
          const call = () => object.batch(statements.map((statement) => originals.get(statement) ?? statement));
          return around("d1", call, "batch", statements);
        };
      }
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A stub's methods are indistinguishable from properties before the call, so every call on it counts. */
function aroundNamespace(namespace: DurableObjectNamespace, around: AroundCall): DurableObjectNamespace {
  return new Proxy(namespace, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, object, args);
        if (property === "jurisdiction") return aroundNamespace(result as DurableObjectNamespace, around);
        const isStub = property === "get" || property === "getByName";
        return isStub ? aroundMethods(result as object, "object", around) : result;
      };
    },
  });
}

const kvMethods = ["get", "getWithMetadata", "put", "delete", "list"];

function wrapBinding(binding: unknown, around: AroundCall): unknown {
  if (typeof binding !== "object" || binding === null) return binding;
  if ("idFromName" in binding) return aroundNamespace(binding as DurableObjectNamespace, around);
  if ("prepare" in binding && "batch" in binding) return aroundDatabase(binding as D1Database, around);
  if ("getWithMetadata" in binding) {
    return aroundMethods(binding as KVNamespace, "kv", around, (method) => kvMethods.includes(method));
  }
  return binding;
}

/** `env` with storage bindings whose calls `around` makes; other bindings are unchanged. */
export function aroundCalls<Env extends object>(env: Env, around: AroundCall): Env {
  const wrapped: Record<string, unknown> = {};
  for (const [name, binding] of Object.entries(env)) wrapped[name] = wrapBinding(binding, around);
  return wrapped as Env;
}

/** `env` with storage bindings that count into `counts`; other bindings are unchanged. */
export function countCalls<Env extends object>(env: Env, counts: CallCounts): Env {
  return aroundCalls(env, (store, call) => {
    counts[store] += 1;
    return call();
  });
}
