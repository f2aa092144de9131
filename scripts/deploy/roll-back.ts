import { confirm } from "./confirm.ts";
import { findWorker } from "./find-worker.ts";
import type { Options } from "./options.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { type DeploymentList, readDeployments, type Session } from "./session.ts";
import { deployedWorkerName, objectsWorker, workersOf } from "./shape.ts";

const mostShown = 5;

/**
 * **`npm run deploy -- rollback`**: serves an earlier version of a Worker (docs/operating/rollback.md). Objects restart at once, because a busy one
 * would run the faulty code for minutes.
 */
export async function rollBack(
  session: Session,
  { arguments: [version, named], confirm: given }: Options,
): Promise<void> {
  if (version === undefined) return listVersions(session);
  const { environment } = session;
  const worker = findWorker(session, named);
  const script = deployedWorkerName(environment.prefix, worker);
  const { deployments } = await readDeployments(session, worker);
  if (!versionsOf(deployments).includes(version))
    throw new Refusal([`${version} is no version that ${script} has served: npm run deploy -- rollback lists them.`]);
  console.log(`${script} serves ${version} from now on. The database, the settings and secrets of other Workers stay.`);
  await confirm(environment.name, given, [["Type the name of the environment to roll it back: ", environment.name]]);
  const objects = worker === objectsWorker(environment) ? ["--durable-objects-code-update-mode", "immediate"] : [];
  const message = ["--message", "npm run deploy -- rollback"];
  await RunLock.run(session, async () => {
    process.exitCode = await session.showWrangler("rollback", version, "--name", script, ...message, ...objects);
  });
}

function versionsOf(deployments: DeploymentList["deployments"]): string[] {
  return [...new Set(deployments.flatMap(({ versions }) => versions.map(({ version_id: id }) => id)))];
}

async function listVersions(session: Session): Promise<void> {
  const { environment } = session;
  for (const { name } of workersOf(environment)) {
    const { deployments } = await readDeployments(session, name);
    console.log(deployedWorkerName(environment.prefix, name));
    for (const { created_on: at, versions } of deployments.slice(0, mostShown))
      console.log(`  ${at}  ${versions.map(({ version_id: id, percentage }) => `${id} ${percentage} %`).join(", ")}`);
  }
}
