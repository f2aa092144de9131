import type { V4WorkerOptions, V4WorkerOptionsShape } from "miniflare";
import { type ApplicationFiles, type Builds, esModules } from "./builds.ts";
import type { Socket } from "./describe-workers.ts";
import { findFreePort } from "./free-port.ts";
import { type Shape, shapes, stateScript } from "./workers.ts";

/**
 * **A Worker beside the provider**, such as a resource server: it runs in the same workerd, with Service Bindings to the provider's Workers as its
 * wrangler file has them. The run sets its variables `RESOURCE` and `ISSUER`.
 */
export interface Application extends ApplicationFiles {
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
  builds: Builds,
  placed: readonly PlacedApplication[],
  shape: Shape,
  issuer: string,
): Promise<V4WorkerOptions[]> {
  return Promise.all(
    placed.map(async ({ name, source, vars, socket, resource, ...files }) => {
      const { modules, options } = await builds.application(files, source);
      return {
        ...options,
        name: `application-${name}`,
        modules: esModules(modules),
        bindings: { ...options.bindings, ...vars, RESOURCE: resource, ISSUER: issuer },
        serviceBindings: inShape(options.serviceBindings ?? {}, shape),
        unsafeDirectSockets: [socket],
      };
    }),
  );
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
