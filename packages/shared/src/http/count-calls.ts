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

function countMethods<T extends object>(target: T, count: (method: string) => void): T {
  return new Proxy(target, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function" || typeof property !== "string") return value;
      return (...args: unknown[]) => {
        count(property);
        return Reflect.apply(value, object, args);
      };
    },
  });
}

/** Statements delegate to the real one. `batch` needs the real one again, so `unwrap` stores it. */
function countDatabase(database: D1Database, counts: CallCounts): D1Database {
  const originals = new WeakMap<object, D1PreparedStatement>();
  const countStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const counted = new Proxy(statement, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (d1Calls.has(String(property))) counts.d1 += 1;
          const result: unknown = Reflect.apply(value, object, args);
          return property === "bind" ? countStatement(result as D1PreparedStatement) : result;
        };
      },
    });
    originals.set(counted, statement);
    return counted;
  };
  return new Proxy(database, {
    get(object, property) {
      if (property === "prepare") return (query: string) => countStatement(object.prepare(query));
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) => {
          counts.d1 += 1;
          return object.batch(statements.map((statement) => originals.get(statement) ?? statement));
        };
      }
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A stub's methods are indistinguishable from properties before the call, so every call on it counts. */
function countNamespace(namespace: DurableObjectNamespace, counts: CallCounts): DurableObjectNamespace {
  const countStub = <T extends object>(stub: T): T =>
    new Proxy(stub, {
      get(object, property) {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          counts.object += 1;
          return Reflect.apply(value, object, args);
        };
      },
    });
  return new Proxy(namespace, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, object, args);
        if (property === "jurisdiction") return countNamespace(result as DurableObjectNamespace, counts);
        return property === "get" || property === "getByName" ? countStub(result as object) : result;
      };
    },
  });
}

const kvMethods = ["get", "getWithMetadata", "put", "delete", "list"];

function wrapBinding(binding: unknown, counts: CallCounts): unknown {
  if (typeof binding !== "object" || binding === null) return binding;
  if ("idFromName" in binding) return countNamespace(binding as DurableObjectNamespace, counts);
  if ("prepare" in binding && "batch" in binding) return countDatabase(binding as D1Database, counts);
  if ("getWithMetadata" in binding) {
    return countMethods(binding as KVNamespace, (method) => {
      if (kvMethods.includes(method)) counts.kv += 1;
    });
  }
  return binding;
}

/** `env` with storage bindings that count into `counts`; other bindings are unchanged. */
export function countCalls<Env extends object>(env: Env, counts: CallCounts): Env {
  const wrapped: Record<string, unknown> = {};
  for (const [name, binding] of Object.entries(env)) wrapped[name] = wrapBinding(binding, counts);
  return wrapped as Env;
}
