import { scriptOf, type WorkerName } from "../../packages/edge-op/src/workers.ts";
import { deleteOtherShapeStep, recordShapeStep, releaseQueuesStep } from "./change-shape.ts";
import { isFirstDeployment, workersWithoutSecret } from "./find-conflicts.ts";
import { isAddressServed } from "./inventory.ts";
import { databaseOf, type Progress, temporaryClient, type Upload } from "./progress.ts";
import type { DeployStep } from "./run-steps.ts";
import { readVersions, type Session } from "./session.ts";
import { hasSecret, objectsWorker, workersOf } from "./shape.ts";
import { adminToken, discover } from "./temporary-client.ts";
import { prepareUpload, recordUploads } from "./uploads.ts";
import { awaitHealth, awaitObjects } from "./verify.ts";

/**
 * **The steps that upload Workers**, including those of a change of the shape. The compact Worker is uploaded over op-state and serves everything
 * before the other Workers are deleted; in the other direction, it serves until the others do, and op-state is uploaded over it last.
 */
export function workerSteps(session: Session, progress: Progress): DeployStep[] {
  const { environment, inventory } = session;
  const before = inventory.recorded?.get("shape") ?? "separate";
  const isChange = !isFirstDeployment(inventory) && before !== environment.shape;
  const objects = [
    uploadStep(session, progress, objectsWorker(environment)),
    ...(inventory.workers.has(objectsWorker(environment)) ? [awaitObjectsStep(session, progress)] : []),
  ];
  const endpoints = environment.shape === "compact" ? [] : endpointSteps(session, progress);
  return [
    ...(isChange ? [releaseQueuesStep(session)] : []),
    // Endpoints whose database is gone cannot report what the objects run.
    ...(isChange || inventory.bindsOtherDatabase ? [...endpoints, ...objects] : [...objects, ...endpoints]),
    ...(inventory.otherShape.length > 0 ? [deleteOtherShapeStep(session)] : []),
    recordShapeStep(session, () => databaseOf(progress)),
  ];
}

function uploadStep(session: Session, progress: Progress, name: WorkerName): DeployStep {
  return { title: `Worker ${scriptOf(name)}`, run: () => uploadEach(session, progress, [name]) };
}

/** The endpoint Workers in parallel, then those that bind them: the console and the front door. */
function endpointSteps(session: Session, progress: Progress): DeployStep[] {
  const endpoints = workersOf(session.environment)
    .map(({ name }): WorkerName => name)
    .filter((name) => name !== "op-state" && name !== "op-console" && name !== "op");
  return [
    { title: `Workers ${endpoints.join(", ")}`, run: () => uploadEach(session, progress, endpoints) },
    uploadStep(session, progress, "op-console"),
    uploadStep(session, progress, "op"),
  ];
}

async function uploadEach(session: Session, progress: Progress, names: readonly WorkerName[]): Promise<string[]> {
  const done: Upload[] = [];
  const lines = await Promise.allSettled(
    names.map(async (name) => {
      const prepared = await prepareUpload(session, progress, name);
      if (prepared.isUnchanged && progress.secrets === undefined) {
        progress.unchanged.push(name);
        return [`${name} is unchanged: not uploaded`];
      }
      progress.uploads.push(prepared);
      const shown = await upload(session, progress, prepared);
      done.push(prepared);
      return shown;
    }),
  );
  await recordUploads(session, progress, done);
  return lines.flatMap((line) => {
    if (line.status === "rejected") throw line.reason;
    return line.value;
  });
}

/** Uploads a Worker, with its secret if it is new. */
async function upload(session: Session, progress: Progress, { name, configuration }: Upload): Promise<string[]> {
  const key = progress.secrets?.masterKey ?? session.masterKey?.key;
  const needsSecret =
    workersWithoutSecret(session.environment, session.inventory).includes(name) || progress.secrets !== undefined;
  if (!hasSecret(name) || !needsSecret || key === undefined) {
    await session.wrangler("deploy", "--config", configuration);
    return [];
  }
  await session.wranglerWithSecrets({ OP_MASTER_KEY: key }, "deploy", "--config", configuration, "--secrets-file");
  return [`OP_MASTER_KEY was sent with the upload of ${name}`];
}

/** Endpoint Workers of the new release must call objects of the new release. Before the front door exists, no request reaches either. */
function awaitObjectsStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Objects run the upload",
    async run() {
      const { issuer, reach, environment, inventory } = session;
      if (progress.unchanged.includes(objectsWorker(environment))) return undefined;
      const present = [...inventory.workers.keys(), ...inventory.otherShape];
      const isReported = present.some((name) => name === "op-management" || name === "op-compact");
      if (!isAddressServed(environment, inventory) || !isReported) {
        return [`not asked: ${issuer} is not served yet by this environment`];
      }
      await awaitHealth(issuer, reach);
      const config = await discover(issuer, await temporaryClient(session, progress), reach);
      const name = objectsWorker(environment);
      const { [name]: version } = await readVersions(session);
      const count = await awaitObjects(
        {
          issuer,
          reach,
          factsToken: "",
          shape: environment.shape,
          versions: version === undefined ? {} : { [name]: version },
          keys: {},
          updateDelayMs: environment.platform.objectUpdateDelaySeconds * 1000,
        },
        () => adminToken(config),
      );
      return [`${count} objects`];
    },
  };
}
