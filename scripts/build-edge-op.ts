import { copyFileSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { BuiltWorker } from "../packages/edge-op/src/builds.ts";
import { instancesName, type PackedWorkers } from "../packages/edge-op/src/packed-builds.ts";
import { sourceBuilds } from "../packages/edge-op/src/source-builds.ts";
import { compactWorker, repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { adminApiDocument } from "./reference/admin-api-document.ts";

/** **The built files of the package `edge-op`**: its programs for Node, and the Workers that they run (`packed-builds.ts`). */
const source = join(repositoryRoot, "packages/edge-op");
const programs = { cli: "src/cli", "host-program": "testing/host-program", "testing/testing": "testing/testing" };

export async function buildEdgeOp(into: string): Promise<void> {
  await Promise.all([buildPrograms(into), writeWorkers(join(into, "workers"))]);
  writeFileSync(join(into, "admin-api.json"), JSON.stringify(adminApiDocument()));
  copyFileSync(join(source, "src/workerd-of-parent.sh"), join(into, "workerd-of-parent.sh"));
  cpSync(join(source, "starter"), join(into, "starter"), { recursive: true });
}

/** The bundle contains everything but the runtime. */
async function buildPrograms(into: string): Promise<void> {
  await build({
    entryPoints: Object.entries(programs).map(([out, file]) => ({ in: join(source, `${file}.ts`), out })),
    outdir: into,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    // `edge-op dev` needs the Node of its runtime, the other commands this one.
    target: "node20",
    external: ["miniflare"],
    // The parser of YAML is CommonJS, and requires modules of Node.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module";const require = makeRequire(import.meta.url);',
    },
    sourcemap: true,
    logLevel: "warning",
  });
}

async function writeWorkers(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const built: Readonly<Record<string, BuiltWorker>> = {
    [compactWorker.name]: await sourceBuilds.worker(compactWorker),
    [instancesName]: await sourceBuilds.instances(),
  };
  for (const [name, { modules }] of Object.entries(built)) {
    mkdirSync(join(folder, name));
    for (const { path, contents } of modules) {
      writeFileSync(join(folder, name, path), contents.replace(/\n\/\/# sourceMappingURL=.*/, ""));
    }
  }
  const packed: PackedWorkers = {
    workers: Object.fromEntries(Object.entries(built).map(([name, { options }]) => [name, withoutPaths(options)])),
    migrations: { DB: await sourceBuilds.migrations("DB"), AUDIT_DB: await sourceBuilds.migrations("AUDIT_DB") },
  };
  writeFileSync(join(folder, "workers.json"), JSON.stringify(packed));
}

function withoutPaths({ rootPath: _, modulesRules: __, ...options }: BuiltWorker["options"]): BuiltWorker["options"] {
  return options;
}
