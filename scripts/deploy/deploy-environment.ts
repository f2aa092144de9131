import { adminClientId, adminClientRow, writeAdminClient } from "../../packages/edge-op/src/admin-client.ts";
import { inviteAdministrator } from "../../packages/edge-op/src/administrators.ts";
import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import type { EmailAddress } from "../../packages/shared/src/users/user-addresses.ts";
import { enableCertificates, manualStep, verifyAliases } from "./certificate-host.ts";
import { createStores } from "./create-stores.ts";
import { isFirstDeployment } from "./find-conflicts.ts";
import { forgetSecrets, keepSecrets, readKept, type ShownSecrets } from "./made-secrets.ts";
import { pendingMigrations, recordMigrations } from "./migrations.ts";
import {
  databaseOf,
  newProgress,
  type Progress,
  removeTemporaryClient,
  temporaryClient,
  writeConfiguration,
} from "./progress.ts";
import { readChoices, recordChoices, recordOnce } from "./record-choices.ts";
import { RunLock } from "./run-lock.ts";
import { type DeployStep, runDeploySteps } from "./run-steps.ts";
import { query, readVersions, type Session } from "./session.ts";
import { waysBack } from "./uploads.ts";
import { repeated, verifyDeployment } from "./verify.ts";
import { workerSteps } from "./worker-steps.ts";

export interface DeployOptions {
  readonly verify: boolean;
  /** The administrator to invite with the first deployment. */
  readonly administrator: EmailAddress | undefined;
}

/**
 * **The steps of a deployment, first or later**: stores, migrations, choices, Workers in order, first admin client, verification. Each step detects
 * the results of an earlier run, so a failed run is continued by repeating it.
 */
export async function deployEnvironment(session: Session, options: DeployOptions): Promise<Progress> {
  const progress = newProgress();
  await RunLock.run(session, (lock) => runSteps(session, progress, options, lock));
  return progress;
}

async function runSteps(session: Session, progress: Progress, options: DeployOptions, lock: RunLock): Promise<void> {
  const steps = [
    storesStep(session, progress, lock),
    ...configurationSteps(session, progress, lock),
    ...workerSteps(session, progress),
    ...certificateSteps(session),
    adminClientStep(session, progress, options.administrator),
    ...(options.verify ? [verificationStep(session, progress)] : []),
  ];
  try {
    await runDeploySteps(steps);
  } catch (error) {
    const ways = await waysBack(session, progress.uploads).catch(() => []);
    if (ways.length > 0) console.error(["To go back to what was served before:", ...ways].join("\n  "));
    throw error;
  } finally {
    await removeTemporaryClient(session, progress);
  }
}

export function storesStep(session: Session, progress: Progress, lock: RunLock): DeployStep {
  return {
    title: "Stores",
    async run() {
      const isNew = session.inventory.recorded === undefined;
      const { ids, created } = await createStores(session, async (main) => isNew && (await lock.takeFirst(main)));
      progress.ids = ids;
      progress.made.push(...created);
      return created.length === 0 ? ["all exist"] : created.map((what) => `created ${what}`);
    },
  };
}

export function migrationsStep(session: Session, progress: Progress, lock: RunLock): DeployStep {
  return {
    title: "Migrations",
    async run() {
      const { inventory } = session;
      const write = () => query(session, databaseOf(progress), recordMigrations(inventory.schemas, Date.now()));
      const pending = pendingMigrations(session.names.databases, inventory.schemas);
      if (inventory.recorded !== undefined) await write();
      for (const { binding, worker } of databasesToMigrate(session)) {
        if (!pending.some((each) => each.binding === binding)) continue;
        const path = writeConfiguration(session, progress, worker);
        await session.wrangler("d1", "migrations", "apply", binding, "--remote", "--config", path);
      }
      // The table exists now.
      if (inventory.recorded === undefined) await write();
      await lock.take(databaseOf(progress));
      progress.made.push(...pending.map(({ path }) => path));
      return pending.length === 0 ? ["all are applied"] : pending.map(({ path }) => path);
    },
  };
}

function configurationSteps(session: Session, progress: Progress, lock: RunLock): DeployStep[] {
  return [
    migrationsStep(session, progress, lock),
    {
      title: "Choices of this deployment",
      async run() {
        const { environment, issuer, inventory, directory } = session;
        if (isFirstDeployment(inventory)) progress.secrets = keepSecrets(directory);
        const choices = {
          environment,
          issuer,
          fingerprint: progress.secrets && (await keyFingerprint(progress.secrets.masterKey)),
          isNew: inventory.workers.size === 0,
          nowMs: Date.now(),
        };
        await query(session, databaseOf(progress), recordChoices(choices));
        const rows = await query(session, databaseOf(progress), readChoices);
        progress.choices = new Map(rows.map(({ name, value }) => [String(name), String(value)]));
        refuseOtherKey(session, progress.choices.get("key_fingerprint"), choices.fingerprint);
        return [
          `issuer ${progress.choices.get("issuer")}, region ${progress.choices.get("region")}, jurisdiction ${progress.choices.get("jurisdiction")}`,
        ];
      },
    },
  ];
}

/** Of two first deployments of which one has taken over the lock: the database records one key, once, and no Worker has received another. */
function refuseOtherKey({ directory }: Session, recorded: string | undefined, own: string | undefined): void {
  if (own === undefined || recorded === own) return;
  forgetSecrets(directory);
  throw new Error(
    `another deployment of this environment has recorded the key with the fingerprint ${recorded}, which is in force. The key of this run (fingerprint ${own}) was given to no Worker and is not kept`,
  );
}

/** Each database once, with a Worker whose configuration names it. */
function databasesToMigrate({
  environment,
  names,
}: Session): { readonly binding: string; readonly worker: WorkerName }[] {
  const worker = environment.shape === "compact" ? "op-compact" : "op-management";
  return Object.keys(names.databases).map((binding) => ({ binding, worker }));
}

/** A token without the permission does not stop the deployment; clients without certificates are served. */
function certificateSteps({ api, account, environment, inventory }: Session): DeployStep[] {
  const { certificateHost: found } = inventory.address;
  if (found === undefined) return [];
  const { hostname: host, zone } = found;
  const authority = environment.clientAuthority;
  return [
    {
      title: "Client certificates",
      async run() {
        try {
          const name = `${environment.prefix}-clients`;
          return await enableCertificates({ api, account, zone: zone.id, host, authority, name });
        } catch (error) {
          const manual = manualStep(error, { host, authority });
          if (manual === undefined) throw error;
          return manual;
        }
      },
    },
  ];
}

function adminClientStep(session: Session, progress: Progress, administrator: EmailAddress | undefined): DeployStep {
  return {
    title: "First admin client",
    async run() {
      if (progress.choices!.has("admin_client")) return showKept(session, progress);
      const nowMs = Date.now();
      const database = databaseOf(progress);
      const { masterKey, shown } = progress.secrets!;
      const row = await adminClientRow(session.issuer, masterKey, shown.adminClientSecret);
      const { issuer } = session;
      const invited =
        administrator && (await inviteAdministrator(administrator, { issuer, masterKey, by: "npm run deploy", nowMs }));
      const statements = [
        ...writeAdminClient(row, nowMs),
        ...(invited?.statements ?? []),
        recordOnce("admin_client", adminClientId, nowMs),
      ];
      await query(session, database, statements.join(";\n"));
      const lines = showOnce(session, progress, shown);
      if (invited !== undefined)
        console.log(`For ${administrator!.address} alone, once, for a day:\n  ${invited.link}\n`);
      return lines;
    },
  };
}

/** The secrets of a run that ended before it could show them. */
function showKept(session: Session, progress: Progress): string[] {
  const kept = readKept(session.directory);
  return ["exists", ...(kept === undefined ? [] : showOnce(session, progress, kept))];
}

function showOnce(
  { directory }: Session,
  { choices }: Progress,
  { OP_MASTER_KEY: key, adminClientSecret }: ShownSecrets,
): string[] {
  console.log(`
Shown once. Store both with your other secrets: they cannot be read back, and without the key nothing of this deployment can be
restored (docs/operating/failures.md).
${key === undefined ? "" : `\n  OP_MASTER_KEY  ${key}   (fingerprint ${choices!.get("key_fingerprint")})`}
  client_id      ${adminClientId}
  client_secret  ${adminClientSecret}
`);
  forgetSecrets(directory);
  return key === undefined ? ["OP_MASTER_KEY is the one given"] : [];
}

function verificationStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Verification",
    async run() {
      const { issuer, reach, environment } = session;
      const { MTLS_ORIGIN: mtlsOrigin } = environment.variables;
      const verified = await verifyDeployment({
        issuer: session.issuer,
        shape: session.environment.shape,
        reach: session.reach,
        client: await temporaryClient(session, progress),
        factsToken: progress.choices!.get("facts_token")!,
        versions: await readVersions(session),
        keys: { OP_MASTER_KEY: progress.choices!.get("key_fingerprint")! },
        updateDelayMs: session.environment.platform.objectUpdateDelaySeconds * 1000,
      });
      if (mtlsOrigin === undefined) return verified;
      return [...verified, await repeated("discovery", () => verifyAliases(issuer, mtlsOrigin, reach))];
    },
  };
}
