/**
 * **What a Worker was uploaded from**, so that an unchanged one is not uploaded again: a deployment restarts objects, and separate Workers change one
 * by one. The table `deployment` has a hash of the configuration and of the code, with the version that was uploaded.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { withDeployedTexts } from "../../packages/edge-op/src/texts/deployed-texts.ts";
import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import { deploymentsOf } from "./environment-files.ts";
import { databaseOf, type Progress, type Upload, writeConfiguration } from "./progress.ts";
import { record } from "./record-choices.ts";
import { query, readDeployments, type Session } from "./session.ts";
import { deployedWorkerName } from "./shape.ts";
import { missingConsumers, missingHosts } from "./show-status.ts";
import { workerOf } from "./worker-configuration.ts";
import { writeWorker } from "./write-worker.ts";

/** The version that all requests of a Worker reach; `undefined` if there is none, or more than one. */
export async function servedVersion(session: Session, name: WorkerName): Promise<string | undefined> {
  const [newest] = (await readDeployments(session, name)).deployments;
  const [version, ...others] = newest?.versions ?? [];
  return others.length > 0 ? undefined : version?.version_id;
}

export async function prepareUpload(session: Session, progress: Progress, name: WorkerName): Promise<Upload> {
  const folder = join(session.directory, name);
  await writeWorker(workerOf(name), folder, [withDeployedTexts(deploymentsOf(session.directory))]);
  const configuration = writeConfiguration(session, progress, name);
  const hash = hashOf(configuration, folder);
  const before = await servedVersion(session, name);
  const recorded = progress.choices?.get(rowOf(session, name));
  const isUnchanged =
    before !== undefined &&
    recorded === `${hash} ${before}` &&
    missingHosts(session).length + missingConsumers(session).length === 0;
  return { name, configuration, hash, before, isUnchanged };
}

export async function recordUploads(session: Session, progress: Progress, uploads: readonly Upload[]): Promise<void> {
  const rows = await Promise.all(
    uploads.map(async ({ name, hash }) => {
      const value = `${hash} ${(await servedVersion(session, name)) ?? ""}`;
      return record(rowOf(session, name), value, Date.now());
    }),
  );
  if (rows.length > 0) await query(session, databaseOf(progress), rows.join(";\n"));
}

function rowOf({ environment }: Session, name: WorkerName): string {
  return `upload:${deployedWorkerName(environment.prefix, name)}`;
}

/** Of everything that makes the upload: the configuration, the modules, and the program that uploads them. */
function hashOf(configuration: string, folder: string): string {
  const { version } = createRequire(import.meta.url)("wrangler/package.json") as { readonly version: string };
  const hash = createHash("sha256").update(`${version}\n`).update(readFileSync(configuration));
  const modules = readdirSync(folder).filter((name) => name.endsWith(".js"));
  for (const name of modules.sort()) hash.update(`\n${name}\n`).update(readFileSync(join(folder, name)));
  return hash.digest("base64url");
}

/** The commands that serve the versions from before a run again, in the order in which they should be given. */
export async function waysBack(session: Session, uploads: readonly Upload[]): Promise<string[]> {
  const { name: environment, shape } = session.environment;
  const recorded = session.inventory.recorded?.get("shape") ?? shape;
  if (recorded !== shape && uploads.length > 0)
    return [`shape: "${recorded}" in deployments/${environment}, then npm run deploy`];
  const where = environment === "production" ? "" : ` --environment ${environment}`;
  const lines = await Promise.all(
    uploads.toReversed().map(async ({ name, before }) => {
      if (before === undefined || (await servedVersion(session, name)) === before) return [];
      return [`npm run deploy -- rollback ${before} ${name.replace(/^op-/, "")}${where}`];
    }),
  );
  return lines.flat();
}
