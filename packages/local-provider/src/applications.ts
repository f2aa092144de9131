import { dirname, join } from "node:path";
import type { V4WorkerOptions, V4WorkerOptionsShape } from "miniflare";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "./bundle-worker.ts";
import type { Socket } from "./describe-workers.ts";
import { findFreePort } from "./free-port.ts";
import { repositoryRoot, type Shape, shapes, stateScript } from "./workers.ts";

/**
 * **A Worker beside the provider**, such as a resource server: it runs in the same workerd, with Service Bindings to the provider's Workers
 * as its wrangler file has them. Its variables `RESOURCE` and `ISSUER` are those of the run.
 */
export interface Application {
  /** Path of its wrangler file below the root of the repository. */
  readonly config: string;
  readonly entry: string;
  /** Replaces the contents of the entry. */
  readonly source?: string;
  /** Further variables. */
  readonly vars?: Readonly<Record<string, string>>;
  /** A free port by default. */
  readonly port?: number;
  /** The path of its resource; `/` by default. */
  readonly path?: string;
}

export interface PlacedApplication extends Application {
  readonly name: string;
  readonly socket: Socket;
  /** The identifier of its resource: its URL. */
  readonly resource: string;
}

/** The resource of an application whose port is known. */
export function resourceOf({ port, path = "/" }: { readonly port: number; readonly path?: string }): string {
  return `http://localhost:${port}${path}`;
}

export async function placeApplications(
  applications: Readonly<Record<string, Application>>,
  host: string,
): Promise<PlacedApplication[]> {
  const taken = new Set<number>();
  const placed: PlacedApplication[] = [];
  for (const [name, application] of Object.entries(applications)) {
    const port = application.port ?? (await findFreePort(host, taken));
    taken.add(port);
    placed.push({ ...application, name, socket: { host, port }, resource: resourceOf({ ...application, port }) });
  }
  return placed;
}

export function describeApplications(
  placed: readonly PlacedApplication[],
  shape: Shape,
  issuer: string,
): Promise<V4WorkerOptions[]> {
  return Promise.all(
    placed.map(async ({ name, config, entry, source, vars, socket, resource }) => {
      const options: V4WorkerOptionsShape = readWorkerOptions(join(repositoryRoot, config)).workerOptions;
      return {
        ...options,
        name: `application-${name}`,
        modules: [{ type: "ESModule", path: "index.js", contents: await bundleSource(entry, source) }],
        bindings: { ...options.bindings, ...vars, RESOURCE: resource, ISSUER: issuer },
        serviceBindings: inShape(options.serviceBindings ?? {}, shape),
        unsafeDirectSockets: [socket],
      };
    }),
  );
}

function bundleSource(entry: string, source: string | undefined): Promise<string> {
  if (source === undefined) return bundleWorker(entry);
  const stdin = { contents: source, resolveDir: join(repositoryRoot, dirname(entry)), loader: "ts" } as const;
  return bundleWorker(entry, { entryPoints: [], stdin });
}

type ServiceBindings = NonNullable<V4WorkerOptionsShape["serviceBindings"]>;

/** The compact Worker has the entrypoints of all Workers. */
function inShape(bindings: ServiceBindings, shape: Shape): ServiceBindings {
  if (shape === "separate") return bindings;
  const separate = new Set<string>(shapes.separate.map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(bindings).map(([binding, service]) => {
      const isOfProvider = typeof service === "object" && "name" in service && separate.has(String(service.name));
      return [binding, isOfProvider ? { ...service, name: stateScript } : service];
    }),
  );
}
