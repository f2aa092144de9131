/** **Stores that fail while the instance's faults name their binding**: each operation fails, as if the store were unreachable. */

type Method = (...args: unknown[]) => unknown;

/** `wrap` replaces the result of a method that does not fail by itself. */
function guard<T extends object>(
  target: T,
  guarded: (method: string) => boolean,
  isFailing: () => boolean,
  wrap: (method: string, result: unknown) => unknown = (_method, result) => result,
): T {
  return new Proxy(target, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (guarded(String(property)) && isFailing())
          return Promise.reject(new Error("unavailable by order of a test"));
        return wrap(String(property), Reflect.apply(value as Method, object, args));
      };
    },
  });
}

const queries = ["first", "all", "run", "raw"];

export function guardDatabase(database: D1Database, isFailing: () => boolean): D1Database {
  const originals = new WeakMap<object, D1PreparedStatement>();
  const guardStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const guarded = guard(
      statement,
      (method) => queries.includes(method),
      isFailing,
      (method, result) => (method === "bind" ? guardStatement(result as D1PreparedStatement) : result),
    );
    originals.set(guarded, statement);
    return guarded;
  };
  return new Proxy(database, {
    get(object, property) {
      if (property === "prepare") return (query: string) => guardStatement(object.prepare(query));
      if (property === "batch") {
        return async (statements: D1PreparedStatement[]) => {
          if (isFailing()) throw new Error("unavailable by order of a test");
          return object.batch(statements.map((statement) => originals.get(statement) ?? statement));
        };
      }
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

/** A store whose every method is an operation. */
export function guardStore<T extends object>(store: T, isFailing: () => boolean): T {
  return guard(store, () => true, isFailing);
}

/** Objects by the names of the instance; a call of a method is refused. */
export function guardObjects(
  namespace: DurableObjectNamespace,
  nameOf: (name: string) => string,
  isFailing: () => boolean,
): DurableObjectNamespace {
  const guarded: DurableObjectNamespace = new Proxy(namespace, {
    get(object, property) {
      if (property === "getByName") {
        return (name: string, options?: DurableObjectNamespaceGetDurableObjectOptions) =>
          guardStore(object.getByName(nameOf(name), options), isFailing);
      }
      if (property === "jurisdiction") return () => guarded;
      const value: unknown = Reflect.get(object, property, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
  return guarded;
}
