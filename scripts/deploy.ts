import { deployEnvironment } from "./deploy/deploy-environment.ts";
import { destroyEnvironment } from "./deploy/destroy-environment.ts";
import type { Environment } from "./deploy/environment.ts";
import {
  checkNewEnvironment,
  deploymentsDirectory,
  environmentNames,
  generatedDirectory,
  loadEnvironment,
  writeEnvironment,
} from "./deploy/environment-files.ts";
import { type Options, readOptions } from "./deploy/options.ts";
import { describePlan, nextSteps } from "./deploy/plan.ts";
import { Refusal } from "./deploy/refusal.ts";
import { replaceSecrets } from "./deploy/replace-secrets.ts";
import { openBackup, restoreBackup } from "./deploy/restore-backup.ts";
import { rollBack } from "./deploy/roll-back.ts";
import { StepFailure } from "./deploy/run-steps.ts";
import { openSession, refuseConflicts } from "./deploy/session.ts";
import { shareTraffic, uploadVersion } from "./deploy/share-traffic.ts";
import { showLog } from "./deploy/show-log.ts";
import { showStatus } from "./deploy/show-status.ts";
import { travelBack } from "./deploy/travel-back.ts";

/**
 * **`npm run deploy`**: one command from an account to a verified provider, and from a release to the next (docs/operating/deploy.md). It checks
 * everything that could be refused before it changes anything.
 */

const options = readOptions(process.argv.slice(2));
const directory = deploymentsDirectory(options.deployments);

interface Found {
  readonly environment: Environment;
  /** Whether the file does not exist yet; the first deployment writes it if there are no conflicts. */
  readonly isNew: boolean;
}

async function findEnvironment(): Promise<Found> {
  const { environment: name, file, command } = options;
  const isDefined = environmentNames(directory).includes(name);
  const isGiven = file.issuer !== undefined || file.workersDev === true;
  const isNew = !isDefined && isGiven && (command === "deploy" || command === "init");
  const environment = isNew ? await checkNewEnvironment(directory, name, file) : await existingEnvironment();
  const takeOver = new Set([...environment.takeOver, ...options.takeOver]);
  return { environment: { ...environment, takeOver }, isNew };
}

async function existingEnvironment(): Promise<Environment> {
  const { environment: name, file } = options;
  const environment = await loadEnvironment(directory, name);
  if (file.shape !== undefined && !environment.isShapeGiven)
    return { ...environment, shape: file.shape, isShapeGiven: true };
  const differs: string[] = [];
  if (file.issuer !== undefined && file.issuer !== environment.issuer) differs.push(`--issuer ${file.issuer}`);
  if (file.workersDev === true && !environment.workersDev) differs.push("--workers-dev");
  if (file.shape !== undefined && file.shape !== environment.shape) differs.push("--separate");
  if (file.prefix !== undefined && file.prefix !== environment.prefix) differs.push(`--prefix ${file.prefix}`);
  for (const [setting, value] of Object.entries(file.settings ?? {})) {
    const own = setting === "REGION" ? environment.region : environment.jurisdiction;
    if (value !== own) differs.push(`--${setting.toLowerCase()} ${value}`);
  }
  if (differs.length > 0) {
    throw new Refusal([
      `deployments/${name} says otherwise than ${differs.join(", ")}: edit the file, or name another --environment.`,
    ]);
  }
  return environment;
}

async function run({ command, dryRun }: Options): Promise<void> {
  const { environment, isNew } = await findEnvironment();
  if (command === "init") {
    if (!isNew)
      throw new Refusal(["init needs --issuer or --workers-dev, and an environment that is not defined yet."]);
    writeEnvironment(directory, environment.name, { ...options.file, shape: environment.shape });
    console.log(`Defined the environment "${environment.name}". Edit its file in deployments/, then: npm run deploy`);
    return;
  }
  if (dryRun) {
    console.log(describePlan(environment, undefined).join("\n"));
    return;
  }
  const generated = generatedDirectory(directory, environment.name);
  const session = await openSession(environment, generated, options);
  if (command === "status") return showStatus(session);
  if (command === "destroy") return destroyEnvironment(session, options.confirm);
  if (command === "secrets") return replaceSecrets(session);
  const [first, second] = options.arguments;
  if (command === "tail") return showLog(session, first);
  if (command === "rollback") return rollBack(session, options);
  if (command === "upload") return uploadVersion(session, first);
  if (command === "share") return shareTraffic(session, options);
  if (command === "restore") return restoreBackup(session, first, options.confirm);
  if (command === "open-backup") return openBackup(session, first!, second);
  if (command === "time-travel") return travelBack(session, first!, options);
  refuseConflicts(session, { migrates: true });
  const agreed = options.takeOver.length === 0 ? {} : { takeOver: options.takeOver };
  if (isNew) {
    const { shape } = session.environment;
    writeEnvironment(directory, environment.name, { ...options.file, shape, account: session.account, ...agreed });
  }
  console.log(describePlan(session.environment, session).join("\n"));
  const { uploads, made } = await deployEnvironment(session, {
    verify: !options.skipVerification,
    administrator: options.administrator,
  });
  if (uploads.length + made.length > 0) console.log(nextSteps(session, options).join("\n"));
  else console.log(`\nNothing changed: ${session.issuer} runs this release with these settings.`);
}

try {
  await run(options);
} catch (error) {
  if (error instanceof Refusal) {
    console.error(`${error.reasons.join("\n")}\n\nNothing was changed.`);
    process.exit(2);
  }
  console.error(error instanceof StepFailure || error instanceof Error ? error.message : error);
  process.exit(1);
}
