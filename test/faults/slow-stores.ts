export interface SlowStore {
  readonly store: "D1" | "KV";
  /** Part of the query or key; absent: everything. */
  readonly containing?: string;
  readonly ms: number;
  /** The number of slow operations; absent: all of them. */
  readonly times?: number;
}

interface StoreBindings {
  readonly DB: D1Database;
  readonly CACHE: KVNamespace;
}

interface Fetching<Env> {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response>;
}

let slow: { readonly fault: SlowStore; left: number }[] = [];
let operations: string[] = [];

async function operate<T>(store: SlowStore["store"], name: string, work: () => T): Promise<Awaited<T>> {
  operations.push(`${store} ${name}`);
  const found = slow.find(
    ({ fault, left }) => left > 0 && fault.store === store && name.includes(fault.containing ?? ""),
  );
  if (found !== undefined) {
    found.left -= 1;
    await scheduler.wait(found.fault.ms);
  }
  return await work();
}

const originals = new WeakMap<object, D1PreparedStatement>();
const queries = new Set(["first", "all", "run", "raw"]);

function slowStatement(statement: D1PreparedStatement, query: string): D1PreparedStatement {
  const proxy = new Proxy(statement, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, target, args);
        if (queries.has(String(property))) return operate("D1", query, call);
        const result = call();
        return property === "bind" ? slowStatement(result as D1PreparedStatement, query) : result;
      };
    },
  });
  originals.set(proxy, statement);
  return proxy;
}

function slowDatabase(database: D1Database): D1Database {
  return new Proxy(database, {
    get(target, property) {
      if (property === "prepare") return (query: string) => slowStatement(target.prepare(query), query);
      if (property === "batch") {
        return (statements: D1PreparedStatement[]) =>
          operate("D1", "batch", () => target.batch(statements.map((each) => originals.get(each) ?? each)));
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function slowCache(cache: KVNamespace): KVNamespace {
  return new Proxy(cache, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        operate("KV", `${String(property)} ${String(args[0])}`, (): unknown => Reflect.apply(value, target, args));
    },
  });
}

/**
 * **A Worker whose D1 and KV are slow on demand**: tests run an entry point that calls this in place of the Worker. On its own socket, `PUT
 * /slow-stores` replaces the slow operations; `GET /slow-stores` returns the reads, by query and by key. Production code has no switch for it.
 */
export function withSlowStores<Env extends StoreBindings, W extends Fetching<Env>>(worker: W): W & Fetching<Env> {
  return {
    ...worker,
    async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
      if (new URL(request.url).pathname !== "/slow-stores") {
        const slowed = { ...env, DB: slowDatabase(env.DB), CACHE: slowCache(env.CACHE) };
        return worker.fetch(request, slowed, context);
      }
      if (request.method !== "PUT") return Response.json(operations);
      const wanted = await request.json<SlowStore[]>();
      slow = wanted.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
      operations = [];
      return new Response(null, { status: 204 });
    },
  };
}
