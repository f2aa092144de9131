/**
 * **The operator's files**: `deployments/<environment>.ts` or `.json`, ignored by git, so that no upgrade changes them. Files generated from them are
 * in `deployments/.generated/<environment>/` and can be deleted at any time.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { findDeployedFaults } from "../../packages/edge-op/src/texts/deployed-texts.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { checkEnvironment, type Environment, type EnvironmentFile, isEnvironmentName } from "./environment.ts";
import { Refusal } from "./refusal.ts";

export function deploymentsDirectory(given: string | undefined): string {
  return given ?? join(repositoryRoot, "deployments");
}

/** The directory for the generated files of an environment; readable only by the owner. */
export function generatedDirectory(directory: string, name: string): string {
  const path = join(directory, ".generated", name);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** The directory that a directory of generated files belongs to. */
export function deploymentsOf(generated: string): string {
  return dirname(dirname(generated));
}

export function environmentNames(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .flatMap((file) => /^([a-z][a-z0-9-]*)\.(?:ts|json)$/.exec(file)?.slice(1) ?? [])
    .sort();
}

function pathOf(directory: string, name: string): string | undefined {
  return ["ts", "json"].map((end) => join(directory, `${name}.${end}`)).find((path) => existsSync(path));
}

/** A file that cannot be read is refused by name, because one of another environment could share names with the deployed one. */
async function readFile(path: string): Promise<unknown> {
  try {
    if (path.endsWith(".json")) return JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, "")) as unknown;
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    return module.default;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal([`${relative(repositoryRoot, path)} cannot be read: ${reason}`]);
  }
}

/** An environment that is defined and valid, and shares no names, counters or issuer with another. */
export async function loadEnvironment(directory: string, name: string): Promise<Environment> {
  const path = pathOf(directory, name);
  if (path === undefined) throw notDefined(directory, name);
  const checked = checkEnvironment(name, await readFile(path));
  const faults = findDeployedFaults(directory);
  if (faults.length > 0) throw new Refusal(faults.map((fault) => relative(repositoryRoot, fault)));
  const shown = relative(repositoryRoot, path);
  if ("errors" in checked) throw new Refusal(checked.errors.map((error) => `${shown}: ${error}`));
  const shared = await findShared(directory, checked.environment);
  if (shared.length > 0) throw new Refusal(shared);
  return checked.environment;
}

function notDefined(directory: string, name: string): Refusal {
  const defined = environmentNames(directory);
  return new Refusal([
    `The environment "${name}" is not defined${defined.length === 0 ? "" : `; defined: ${defined.join(", ")}`}.`,
    `Define it: npm run deploy -- --environment ${name} --issuer https://… (or --workers-dev)`,
  ]);
}

/** Two environments in one account are separated only by their names. */
async function findShared(directory: string, own: Environment): Promise<string[]> {
  const errors: string[] = [];
  for (const name of environmentNames(directory)) {
    if (name === own.name) continue;
    const checked = checkEnvironment(name, await readFile(pathOf(directory, name)!));
    if ("errors" in checked) continue;
    const other = checked.environment;
    if (other.issuer !== undefined && other.issuer === own.issuer) {
      errors.push(`The issuer ${own.issuer} belongs to the environment "${name}".`);
    }
    if (own.account !== undefined && other.account !== undefined && own.account !== other.account) continue;
    if (other.prefix === own.prefix) errors.push(`The prefix "${own.prefix}" belongs to the environment "${name}".`);
    if (other.platform.rateLimitNamespace === own.platform.rateLimitNamespace) {
      errors.push(`RATE_LIMIT_NAMESPACE ${own.platform.rateLimitNamespace} belongs to the environment "${name}".`);
    }
    for (const [binding, resource] of Object.entries(own.resources)) {
      const foreign = resource === other.prefix || resource.startsWith(`${other.prefix}-`);
      if (foreign && other.prefix.length > own.prefix.length) {
        errors.push(`resources.${binding}: "${resource}" has the prefix of the environment "${name}".`);
      }
    }
  }
  return errors;
}

/** A new environment as it would be written; refused if it is invalid, exists, or shares something with another. */
export async function checkNewEnvironment(
  directory: string,
  name: string,
  file: EnvironmentFile,
): Promise<Environment> {
  if (!isEnvironmentName(name)) {
    throw new Refusal([`An environment is named with 1 to 20 lower-case letters, digits and hyphens, not "${name}".`]);
  }
  const checked = checkEnvironment(name, file);
  if ("errors" in checked) throw new Refusal(checked.errors);
  const shared = await findShared(directory, checked.environment);
  if (shared.length > 0) throw new Refusal(shared);
  return checked.environment;
}

export function writeEnvironment(directory: string, name: string, file: EnvironmentFile): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.ts`), renderFile(directory, name, file), { flag: "wx" });
}

function renderFile(directory: string, name: string, file: EnvironmentFile): string {
  const types = relative(directory, join(repositoryRoot, "scripts/deploy/environment.ts")).replaceAll("\\", "/");
  const body = JSON.stringify(file, null, 2).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
  return `// The environment "${name}". This file is yours: git ignores it, and upgrades do not change it. Keep a copy with your configuration.
// Every setting with its default and range: docs/reference/settings.md
import type { EnvironmentFile } from "${types}";

export default ${body} satisfies EnvironmentFile;
`;
}
