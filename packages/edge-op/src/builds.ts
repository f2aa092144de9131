import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { V4WorkerOptionsShape } from "miniflare";
import type { DatabaseName } from "./store-worker.ts";
import type { WorkerFiles } from "./workers.ts";

/**
 * **The source of the Workers of a local run**: built from the sources of this repository (`source-builds.ts`), or, in the published package, built
 * when it was packed (`packed-builds.ts`). The code that runs them does not distinguish the two.
 */
export interface Builds {
  /** `entry` replaces the Worker's own entry point. */
  worker(worker: WorkerFiles, entry?: string): Promise<BuiltWorker>;
  /** The compact Worker for many instances (`instances/`). */
  instances(): Promise<BuiltWorker>;
  /** A Worker beside the provider; `source` replaces the contents of its entry. */
  application(files: ApplicationFiles, source?: string): Promise<BuiltWorker>;
  /** The module that delays the calls of a Worker to its stores (`distant-stores.ts`). */
  distantStores(): Promise<string>;
  migrations(database: DatabaseName): Promise<readonly Migration[]>;
}

/** An ES module of a Worker. */
export interface WorkerModule {
  /** The other modules, which are in the same folder, import it by this name. */
  readonly path: string;
  readonly contents: string;
}

/** The path of a Worker's main module. */
export const mainModule = "index.js";

/** A Worker with the bindings of its wrangler file. */
export interface BuiltWorker {
  /** The main module is the first. */
  readonly modules: readonly WorkerModule[];
  readonly options: V4WorkerOptionsShape;
}

/** The modules as Miniflare takes them. */
export function esModules(modules: readonly WorkerModule[]) {
  return modules.map(({ path, contents }) => ({ type: "ESModule" as const, path, contents }));
}

export interface ApplicationFiles {
  /** Paths, absolute or below the root of the repository. Without `config` it has no bindings. */
  readonly config?: string;
  readonly entry: string;
}

export interface Migration {
  readonly name: string;
  readonly statements: readonly string[];
}

/** **Reads the modules of a Worker from its folder**, the main one first. Source maps stay. */
export function readModules(folder: string): WorkerModule[] {
  const others = readdirSync(folder).filter((path) => path.endsWith(".js") && path !== mainModule);
  return [mainModule, ...others].map((path) => ({ path, contents: readFileSync(join(folder, path), "utf8") }));
}
