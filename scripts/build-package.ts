import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { buildEdgeOp } from "./build-edge-op.ts";
import { runCommand } from "./steps.ts";

export interface PublishedPackage {
  /** Below `packages/`. */
  readonly folder: string;
  /** Writes further built files into a folder. */
  build?(into: string): Promise<void>;
}

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

export const publishedPackages: readonly PublishedPackage[] = [
  { folder: "resource-server" },
  { folder: "hooks" },
  { folder: "edge-op", build: buildEdgeOp },
];

export function packageFolder({ folder }: PublishedPackage): string {
  return join(repositoryRoot, "dist/packages", folder);
}

/**
 * **Builds a package as it is published**: a folder for `npm pack` and `npm publish`. The manifest is the one
 * of the workspace, with the built files in place of the sources and without what only the workspace needs.
 */
export async function buildPackage({ folder, build }: PublishedPackage, built: string): Promise<void> {
  const source = join(repositoryRoot, "packages", folder);
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  const { code, output } = await runCommand("tsc", [
    "-p",
    join(source, "tsconfig.build.json"),
    "--outDir",
    join(built, "dist"),
  ]);
  if (code !== 0) throw new Error(output);
  await build?.(join(built, "dist"));
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Manifest;
  writeFileSync(join(built, "package.json"), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
  cpSync(join(source, "README.md"), join(built, "README.md"));
  cpSync(join(repositoryRoot, "LICENSE"), join(built, "LICENSE"));
}

function publishedManifest(manifest: Manifest): Manifest {
  const { private: _, devDependencies: __, exports, bin, dependencies = {}, ...rest } = manifest;
  const entries = Object.entries(exports).map(([path, source]): [string, unknown] => {
    const stem = builtStem(source);
    return [path, { types: `${stem}.d.ts`, default: `${stem}.js` }];
  });
  const commands = Object.entries(bin ?? {}).map(([name, source]) => [name, `${builtStem(source)}.js`]);
  const outside = Object.entries(dependencies).filter(([, version]) => !version.startsWith("workspace:"));
  const isRuntime = ([dependency]: readonly [string, string]) => dependency === "miniflare";
  const runtime = Object.fromEntries(outside.filter(isRuntime));
  return {
    ...rest,
    exports: Object.fromEntries(entries) as Readonly<Record<string, string>>,
    ...(bin === undefined ? {} : { bin: Object.fromEntries(commands) as Readonly<Record<string, string>> }),
    dependencies: Object.fromEntries(outside.filter((each) => !isRuntime(each))),
    // Found or installed by the commands that need it (packages/edge-op/src/runtime.ts).
    ...(Object.keys(runtime).length === 0 ? {} : { runtime }),
  };
}

/** The built file of a source, without its extension. */
function builtStem(source: string): string {
  return source.replace(/^\.\/(?:src\/)?(.+)\.ts$/, "./dist/$1");
}
