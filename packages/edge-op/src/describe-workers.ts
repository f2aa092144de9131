import type { V4WorkerOptions, V4WorkerOptionsShape } from "miniflare";
import { type Builds, type BuiltWorker, esModules } from "./builds.ts";
import { findFreePort } from "./free-port.ts";
import {
  boundElsewhere,
  compactWorker,
  type Shape,
  scriptOf,
  shapes,
  stateScript,
  type WorkerName,
} from "./workers.ts";

export interface WorkerChoice {
  readonly shape?: Shape | undefined;
  readonly direct?: boolean | undefined;
  readonly entryPoints?: Partial<Record<WorkerName, string>> | undefined;
  readonly extraIsolates?: number | undefined;
  readonly builtWorkers?: Readonly<Record<string, BuiltWorker>> | undefined;
}

export interface Socket {
  readonly host: string;
  readonly port: number;
}

type Worker = (typeof shapes)[Shape][number];

interface Isolate {
  readonly worker: Worker;
  /** "op-token"; additional isolates are "op-token#2", …. */
  readonly name: string;
  readonly isFirst: boolean;
}

const endpoints: readonly WorkerName[] = ["op-token", "op-management", "op-userinfo", "op-auth"];
const withFurtherIsolates: readonly WorkerName[] = [...endpoints, compactWorker.name];
/** Workers that a deployment may give an origin or a route of their own. */
const addressed: readonly WorkerName[] = [...endpoints, "op-console"];

export function frontDoorOf(shape: Shape = "separate"): WorkerName {
  return shape === "compact" ? compactWorker.name : "op";
}

function isolatesOf({ shape = "separate", extraIsolates = 0 }: WorkerChoice): Isolate[] {
  const all: readonly Worker[] = shapes[shape];
  return all.flatMap((worker) => {
    const count = 1 + (withFurtherIsolates.includes(worker.name) ? extraIsolates : 0);
    return Array.from({ length: count }, (_, index) => ({
      worker,
      name: index === 0 ? worker.name : `${worker.name}#${index + 1}`,
      isFirst: index === 0,
    }));
  });
}

/** The sockets besides the front door's: those of endpoint Workers and additional isolates, and of op-state's substitute. */
export async function chooseDirectSockets(choice: WorkerChoice, host: string): Promise<Map<string, Socket>> {
  const replaced = choice.entryPoints?.[stateScript] === undefined ? [] : [stateScript];
  const names = isolatesOf(choice)
    .filter(({ worker, isFirst }) => !isFirst || (choice.direct === true && addressed.includes(worker.name)))
    .map(({ name }) => name);
  const sockets = new Map<string, Socket>();
  const taken = new Set<number>();
  for (const name of [...replaced, ...names]) {
    const port = await findFreePort(host, taken);
    taken.add(port);
    sockets.set(name, { host, port });
  }
  return sockets;
}

/**
 * The origins of direct sockets, by isolate name. The compact Worker responds for each endpoint Worker, so that a test or benchmark that addresses
 * `op-token#2` works in both shapes.
 */
export function directOrigins(choice: WorkerChoice, sockets: ReadonlyMap<string, Socket>): Record<string, string> {
  const isCompact = choice.shape === "compact";
  const named = [...sockets].flatMap(([name, { port }]): (readonly [string, string])[] => {
    const origin = `http://localhost:${port}`;
    if (name === stateScript || !isCompact) return name === "op" ? [] : [[name, origin]];
    if (name === compactWorker.name && choice.direct !== true) return [];
    return endpoints.map((endpoint) => [name.replace(compactWorker.name, endpoint), origin]);
  });
  return Object.fromEntries(named);
}

/** `sockets` includes the front door's. */
export async function describeWorkers(
  builds: Builds,
  choice: WorkerChoice,
  bindings: Readonly<Record<string, string>>,
  sockets: ReadonlyMap<string, Socket>,
): Promise<V4WorkerOptions[]> {
  const bundles = new Map<WorkerName, Promise<BuiltWorker>>();
  const builtOf = ({ worker, name }: Isolate): Promise<BuiltWorker> | BuiltWorker => {
    const given = choice.builtWorkers?.[name];
    if (given !== undefined) return given;
    const bundle = bundles.get(worker.name) ?? builds.worker(worker, choice.entryPoints?.[worker.name]);
    bundles.set(worker.name, bundle);
    return bundle;
  };
  return Promise.all(
    // The first Worker listed uses Miniflare's own port, which is not used.
    isolatesOf(choice).map(async (isolate): Promise<V4WorkerOptions> => {
      const { modules, options } = await builtOf(isolate);
      const script = scriptOf(isolate.worker.name);
      const own = [sockets.get(isolate.name), isolate.isFirst && script === stateScript && sockets.get(stateScript)];
      const opened = [...new Set(own.filter((socket) => socket !== undefined && socket !== false))];
      return {
        ...options,
        ...(isolate.isFirst ? {} : withoutOwnership(options)),
        name: isolate.name.replace(isolate.worker.name, script),
        modules: esModules(modules),
        bindings: { ...options.bindings, ...bindings },
        ...(opened.length === 0 ? {} : { unsafeDirectSockets: opened }),
      };
    }),
  );
}

/** A further isolate consumes no messages instead of the first one, and calls the objects of the first one. */
function withoutOwnership({ durableObjects = {} }: V4WorkerOptionsShape): V4WorkerOptionsShape {
  return { queueConsumers: {}, durableObjects: boundElsewhere(durableObjects) };
}
