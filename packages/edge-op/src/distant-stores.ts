import { wrapCalls } from "@edge-op/shared/http/count-calls";

/** Round trips to the stores, in milliseconds. */
export interface Distances {
  readonly object: number;
  readonly kv: number;
  readonly d1: number;
  /** There is a second region, `apac`: to objects, D1 and Workers elsewhere, and from there. */
  readonly far?: number;
}

/** Name and location hint of the second region, and the continent of the requests that reach its Workers. */
export const farRegion = "apac";
const farContinent = "AS";

/**
 * **`env` with stores at a distance**: half of a round trip passes before a call reaches its store, and half before its response arrives. `isFar`:
 * whether the caller is in the second region. The databases and the objects without a region are in the first; KV is everywhere.
 */
export function withDistance<Env extends object>(
  env: Env,
  distances: Distances,
  isFar = false,
  wait: (ms: number) => Promise<unknown> = (ms) => scheduler.wait(ms),
): Env {
  return wrapCalls(env, async (store, call, object) => {
    const isCrossing = store !== "kv" && isFarObject(object) !== isFar;
    const ms = isCrossing ? (distances.far ?? distances[store]) : distances[store];
    await wait(ms / 2);
    try {
      return await call();
    } finally {
      await wait(ms / 2);
    }
  });
}

/** Names of sharded objects contain their region: `{store}:g{generation}:{region}:{shard}`. */
function isFarObject(name: string | undefined): boolean {
  return name?.split(":")[2] === farRegion;
}

interface Handlers {
  fetch?(request: Request, env: object, context: ExecutionContext): Response | Promise<Response>;
  queue?(batch: MessageBatch, env: object, context: ExecutionContext): void | Promise<void>;
}

type EntryClass = new (ctx: { readonly id?: DurableObjectId }, env: object) => object;

/**
 * **The exports of a Worker, with its stores at a distance.** `isFar`: whether this isolate is in the second region. An object is where its name
 * says.
 */
export function placeWorker(
  exports: Readonly<Record<string, unknown>>,
  distances: Distances,
  isFar: boolean,
): Readonly<Record<string, unknown>> {
  const placed = Object.entries(exports).map(([name, value]) => {
    if (name === "default") return [name, placeHandlers(value as Handlers, distances, isFar)];
    return [name, typeof value === "function" ? placeClass(value as EntryClass, distances, isFar) : value];
  });
  return Object.fromEntries(placed) as Record<string, unknown>;
}

function placeHandlers(handlers: Handlers, distances: Distances, isFar: boolean): Handlers {
  const environments = new WeakMap<object, object>();
  const distant = (env: object): object => {
    const known = environments.get(env) ?? withDistance(env, distances, isFar);
    environments.set(env, known);
    return known;
  };
  const { fetch, queue } = handlers;
  const located = (request: Request) => (isFar ? new Request(request, { cf: { continent: farContinent } }) : request);
  return {
    ...(fetch && { fetch: (request, env, context) => fetch.call(handlers, located(request), distant(env), context) }),
    ...(queue && { queue: (batch, env, context) => queue.call(handlers, batch, distant(env), context) }),
  };
}

function placeClass(base: EntryClass, distances: Distances, isFar: boolean): EntryClass {
  return class extends base {
    constructor(ctx: { readonly id?: DurableObjectId }, env: object) {
      super(ctx, withDistance(env, distances, ctx.id === undefined ? isFar : isFarObject(ctx.id.name)));
    }
  };
}
