/**
 * **`npm run deploy -- upload` and `-- share`**: a version of a Worker of this checkout that serves nothing, and the share of the requests that it
 * gets beside the one that serves most of them (docs/operating/rollback.md).
 */

import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import { confirm } from "./confirm.ts";
import { migrationsStep, storesStep } from "./deploy-environment.ts";
import { findWorker } from "./find-worker.ts";
import type { Options } from "./options.ts";
import { newProgress } from "./progress.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { runDeploySteps } from "./run-steps.ts";
import { readDeployments, refuseConflicts, type Session } from "./session.ts";
import { deployedWorkerName } from "./shape.ts";
import { prepareUpload } from "./uploads.ts";

/** The migrations come first, because the previous release runs on the newer tables, and not the other way round. */
export async function uploadVersion(session: Session, named: string | undefined): Promise<void> {
  const worker = findWorker(session, named);
  refuseConflicts(session, { migrates: true });
  const progress = newProgress();
  if (session.inventory.recorded !== undefined) progress.choices = session.inventory.recorded;
  const upload = async () => {
    const { configuration } = await prepareUpload(session, progress, worker);
    await session.wrangler("versions", "upload", "--config", configuration, "--message", "npm run deploy -- upload");
    const [newest] = (await readVersionList(session, worker)).toSorted((one, other) => other.number - one.number);
    return [
      `${newest?.id} serves nothing yet. A tenth of the requests: npm run deploy -- share ${newest?.id} 10 ${named ?? ""}`,
    ];
  };
  await RunLock.run(session, (lock) =>
    runDeploySteps([
      storesStep(session, progress, lock),
      migrationsStep(session, progress, lock),
      { title: `Version of ${deployedWorkerName(session.environment.prefix, worker)}`, run: upload },
    ]),
  );
}

/** The order of the versions stays, so that an object which runs the new one keeps it when the share is raised. */
export async function shareTraffic(
  session: Session,
  { arguments: [version = "", percent = "", named], confirm: given }: Options,
): Promise<void> {
  const { api, account, environment } = session;
  const worker = findWorker(session, named);
  const script = deployedWorkerName(environment.prefix, worker);
  const share = Number(percent);
  if (!Number.isInteger(share) || share < 1 || share > 100)
    throw new Refusal([`${percent} is no share of the requests: a number from 1 to 100.`]);
  if (!(await readVersionList(session, worker)).some(({ id }) => id === version))
    throw new Refusal([`${version} is no version of ${script}: npm run deploy -- upload makes one.`]);
  const [newest] = (await readDeployments(session, worker)).deployments;
  const [other] = (newest?.versions ?? [])
    .filter(({ version_id: id }) => id !== version)
    .toSorted((one, another) => another.percentage - one.percentage);
  if (share < 100 && other === undefined)
    throw new Refusal([`${version} serves all requests of ${script}, and no other version does.`]);
  const rest = share === 100 || other === undefined ? [] : [{ version_id: other.version_id, percentage: 100 - share }];
  console.log(
    `${script} serves ${[`${version} ${share} %`, ...rest.map((each) => `${each.version_id} ${each.percentage} %`)].join(", ")} from now on.`,
  );
  await confirm(environment.name, given, [["Type the name of the environment to do it: ", environment.name]]);
  await RunLock.run(session, async () => {
    await api.send("POST", `/accounts/${account}/workers/scripts/${script}/deployments`, {
      strategy: "percentage",
      versions: [{ version_id: version, percentage: share }, ...rest],
      annotations: { "workers/message": "npm run deploy -- share" },
    });
  });
}

async function readVersionList({ api, account, environment }: Session, worker: WorkerName) {
  const script = deployedWorkerName(environment.prefix, worker);
  const path = `/accounts/${account}/workers/scripts/${script}/versions`;
  const found = await api.find<{ readonly items: readonly { readonly id: string; readonly number: number }[] }>(path);
  return found?.items ?? [];
}
