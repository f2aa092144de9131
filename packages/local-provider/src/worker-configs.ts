import { join } from "node:path";
import { readSettings } from "@edge-op/shared/config/settings";
import { unstable_readConfig as readConfig } from "wrangler";
import { settingsVariables } from "./settings-variables.ts";
import { repositoryRoot, type Shape, shapes } from "./workers.ts";

/**
 * **The settings that must be equal in all Workers of a deployment.** A Worker reads only its own wrangler file, so two lifetimes
 * or two issuers would go unnoticed until one Worker refuses a token of another, or accepts it for too long.
 */
export interface WorkerConfig {
  readonly file: string;
  /** As text, as the Worker receives them; only those that every Worker reads. */
  readonly settings: Readonly<Record<string, string>>;
  /** The ids of the resources that several Workers bind by the same name: `DB`, `CACHE`. */
  readonly stores: Readonly<Record<string, string>>;
}

/** Returns a paragraph for each difference or invalid value; none if the Workers agree. */
export function findConflicts(configs: readonly WorkerConfig[]): string[] {
  const names = new Set(configs.flatMap(({ stores }) => Object.keys(stores)));
  return [
    ...configs.flatMap(refusedSettings),
    ...settingsVariables.flatMap((name) => differing(name, configs, ({ settings }) => settings[name])),
    // A Worker without the binding is ignored.
    ...[...names].flatMap((name) =>
      differing(
        name,
        configs.filter(({ stores }) => stores[name] !== undefined),
        ({ stores }) => stores[name],
      ),
    ),
  ];
}

function differing(
  name: string,
  configs: readonly WorkerConfig[],
  valueIn: (config: WorkerConfig) => string | undefined,
): string[] {
  if (new Set(configs.map(valueIn)).size <= 1) return [];
  const width = Math.max(...configs.map(({ file }) => file.length));
  const lines = configs.map((config) => `  ${config.file.padEnd(width)}  ${valueIn(config) ?? "(not set)"}`);
  return [[`${name} must be the same in every Worker:`, ...lines].join("\n")];
}

/** The error with which a Worker would respond to every request. */
function refusedSettings({ file, settings }: WorkerConfig): string[] {
  try {
    readSettings({ ...settings, ISSUER: settings["ISSUER"] ?? "" });
    return [];
  } catch (error) {
    return [`${file}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Reads the wrangler files of a shape, which have the bindings for local runs. */
export function readWorkerConfigs(shape: Shape = "separate"): WorkerConfig[] {
  return shapes[shape].map(({ config: file }) => {
    const { vars, d1_databases, kv_namespaces } = readWranglerFile(file);
    const given = settingsVariables.filter((name) => vars[name] !== undefined);
    return {
      file,
      settings: Object.fromEntries(given.map((name) => [name, String(vars[name])])),
      stores: Object.fromEntries([
        ...d1_databases.map(({ binding, database_id }) => [binding, database_id ?? "(not set)"]),
        ...kv_namespaces.map(({ binding, id }) => [binding, id ?? "(not set)"]),
      ]),
    };
  });
}

/** The members used of a wrangler file. */
interface WranglerFile {
  readonly vars: Readonly<Record<string, unknown>>;
  readonly d1_databases: readonly { readonly binding: string; readonly database_id?: string }[];
  readonly kv_namespaces: readonly { readonly binding: string; readonly id?: string }[];
}

function readWranglerFile(file: string): WranglerFile {
  return readConfig({ config: join(repositoryRoot, file) });
}

/** Every conflict of the wrangler files of each shape. */
export function findAllConflicts(): string[] {
  return (Object.keys(shapes) as Shape[]).flatMap((shape) => findConflicts(readWorkerConfigs(shape)));
}
