import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminClientId, adminClientRow, writeAdminClient } from "../../packages/local-provider/src/admin-client.ts";
import { type WorkerName, workers } from "../../packages/local-provider/src/workers.ts";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import { createStores } from "./create-stores.ts";
import { endpointWorkers, readObjectReport, readWorkerFacts } from "./deployment-facts.ts";
import { isFirstDeployment, workersWithoutSecret } from "./find-conflicts.ts";
import { forgetSecrets, keepSecrets, type MadeSecrets } from "./made-secrets.ts";
import { readChoices, record, recordChoices, recordOnce } from "./record-choices.ts";
import { type DeployStep, runDeploySteps } from "./run-steps.ts";
import { query, readVersions, type Session } from "./session.ts";
import { adminToken, discover, makeTemporaryClient, type TemporaryClient } from "./temporary-client.ts";
import { awaitHealth, awaitObjects, verifyDeployment } from "./verify.ts";
import { type StoreIds, workerConfiguration } from "./worker-configuration.ts";

/**
 * **The steps of a deployment, first or later**: stores, migrations, choices, Workers in order, first admin client, verification. Each
 * step finds what an earlier run has done, so a failed run is continued by repeating it.
 */
export interface DeployOptions {
  readonly verify: boolean;
}

/** What the steps learn from each other. */
interface Progress {
  ids?: StoreIds;
  choices?: ReadonlyMap<string, string>;
  secrets?: MadeSecrets;
  client?: TemporaryClient;
}

export async function deployEnvironment(session: Session, options: DeployOptions): Promise<void> {
  const progress: Progress = {};
  const steps = [
    storesStep(session, progress),
    ...configurationSteps(session, progress),
    ...workerSteps(session, progress),
    fingerprintStep(session, progress),
    adminClientStep(session, progress),
    ...(options.verify ? [verificationStep(session, progress)] : []),
  ];
  try {
    await runDeploySteps(steps);
  } finally {
    await removeTemporaryClient(session, progress);
  }
}

function databaseOf(progress: Progress): string {
  return progress.ids!.databases["DB"]!;
}

function storesStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Stores",
    async run() {
      const { ids, created } = await createStores(session);
      progress.ids = ids;
      return created.length === 0 ? ["all exist"] : created.map((what) => `created ${what}`);
    },
  };
}

function configurationSteps(session: Session, progress: Progress): DeployStep[] {
  return [
    {
      title: "Migrations",
      async run() {
        for (const { binding, worker } of databasesToMigrate(session)) {
          const path = writeConfiguration(session, progress, worker);
          await session.wrangler("d1", "migrations", "apply", binding, "--remote", "--config", path);
        }
        return undefined;
      },
    },
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
        return [
          `issuer ${progress.choices.get("issuer")}, region ${progress.choices.get("region")}, jurisdiction ${progress.choices.get("jurisdiction")}`,
        ];
      },
    },
  ];
}

/** Each database once, with a Worker whose configuration names it. */
function databasesToMigrate({ names }: Session): { readonly binding: string; readonly worker: WorkerName }[] {
  return Object.keys(names.databases).map((binding) => ({ binding, worker: "op-management" }));
}

function writeConfiguration(session: Session, progress: Progress, name: WorkerName): string {
  const { environment, directory, account, issuer, inventory } = session;
  const path = join(directory, `${name}.json`);
  const factsToken = progress.choices?.get("facts_token");
  const configuration = workerConfiguration(
    name,
    environment,
    {
      account,
      issuer,
      zone: inventory.address.zone?.name,
      ids: progress.ids!,
      factsTokenHash: factsToken === undefined ? "" : createHash("sha256").update(factsToken).digest("base64url"),
    },
    directory,
  );
  writeFileSync(path, `${JSON.stringify(configuration, null, 2)}\n`);
  return path;
}

/** The objects, then the endpoint Workers side by side, then the front door: each binds only those before it. */
function workerSteps(session: Session, progress: Progress): DeployStep[] {
  const endpoints = workers.map(({ name }) => name).filter((name) => name !== "op-state" && name !== "op");
  return [
    { title: "Worker op-state", run: () => upload(session, progress, "op-state") },
    ...(session.inventory.workers.has("op-state") ? [awaitObjectsStep(session, progress)] : []),
    {
      title: `Workers ${endpoints.join(", ")}`,
      async run() {
        const results = await Promise.allSettled(endpoints.map((name) => upload(session, progress, name)));
        const failed = results.find((result) => result.status === "rejected");
        if (failed !== undefined) throw failed.reason;
        return results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
      },
    },
    { title: "Worker op", run: () => upload(session, progress, "op") },
  ];
}

/** Uploads a Worker, with its secret if it is new. */
async function upload(session: Session, progress: Progress, name: WorkerName): Promise<string[]> {
  const path = writeConfiguration(session, progress, name);
  const key = progress.secrets?.masterKey ?? session.masterKey?.key;
  const needsSecret = workersWithoutSecret(session.inventory).includes(name) || progress.secrets !== undefined;
  if (name === "op" || !needsSecret || key === undefined) {
    await session.wrangler("deploy", "--config", path);
    return [];
  }
  const file = join(session.directory, `${name}.secrets.json`);
  writeFileSync(file, JSON.stringify({ OP_MASTER_KEY: key }), { mode: 0o600 });
  try {
    await session.wrangler("deploy", "--config", path, "--secrets-file", file);
  } finally {
    rmSync(file, { force: true });
  }
  return [`OP_MASTER_KEY was sent with the upload of ${name}`];
}

/** Endpoint Workers of the new release call objects of the new release. */
function awaitObjectsStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Objects run the upload",
    async run() {
      const { issuer, reach, environment } = session;
      if (
        (await readWorkerFacts(issuer, "op-management", progress.choices!.get("facts_token")!, reach)) === undefined
      ) {
        return [
          "the running release does not report: objects are updated within their delay, and both releases work together",
        ];
      }
      await awaitHealth(issuer, reach);
      const config = await discover(issuer, await temporaryClient(session, progress), reach);
      if ((await readObjectReport(issuer, await adminToken(config), reach)) === undefined) return ["not reported"];
      const { "op-state": version } = await readVersions(session);
      const count = await awaitObjects(
        {
          issuer,
          reach,
          factsToken: "",
          versions: version === undefined ? {} : { "op-state": version },
          keys: {},
          updateDelayMs: environment.platform.objectUpdateDelaySeconds * 1000,
        },
        () => adminToken(config),
      );
      return [`${count} objects`];
    },
  };
}

async function temporaryClient(session: Session, progress: Progress): Promise<TemporaryClient> {
  if (progress.client !== undefined) return progress.client;
  const client = await makeTemporaryClient(session.issuer, Date.now());
  await query(session, databaseOf(progress), client.create);
  progress.client = client;
  return client;
}

async function removeTemporaryClient(session: Session, progress: Progress): Promise<void> {
  if (progress.client !== undefined) await query(session, databaseOf(progress), progress.client.remove);
}

/** A deployment of an earlier release: its Workers report the key that they have. */
function fingerprintStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Key of this deployment",
    async run() {
      const known = progress.choices!.get("key_fingerprint");
      if (known !== undefined) return [`fingerprint ${known}`];
      const reported = new Set<string>();
      for (const worker of endpointWorkers.filter((each) => each !== "op")) {
        const facts = await readWorkerFacts(
          session.issuer,
          worker,
          progress.choices!.get("facts_token")!,
          session.reach,
        );
        reported.add(facts?.keys.OP_MASTER_KEY ?? "none");
      }
      const [fingerprint] = reported;
      if (reported.size !== 1 || fingerprint === undefined || fingerprint === "none") {
        throw new Error(`the Workers report different keys: ${[...reported].join(", ")}`);
      }
      await query(session, databaseOf(progress), record("key_fingerprint", fingerprint, Date.now()));
      progress.choices = new Map([...progress.choices!, ["key_fingerprint", fingerprint]]);
      return [`fingerprint ${fingerprint}, as reported by the Workers`];
    },
  };
}

function adminClientStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "First admin client",
    async run() {
      if (progress.choices!.has("admin_client")) return ["exists"];
      const nowMs = Date.now();
      const database = databaseOf(progress);
      if (progress.secrets === undefined) {
        await query(session, database, recordOnce("admin_client", "of an earlier release", nowMs));
        return ["of an earlier release; npm run admin-client gives it a new secret"];
      }
      const { masterKey, adminClientSecret, keyIsGiven } = progress.secrets;
      const row = await adminClientRow(session.issuer, masterKey, adminClientSecret);
      const statements = [...writeAdminClient(row, nowMs), recordOnce("admin_client", adminClientId, nowMs)];
      await query(session, database, statements.join(";\n"));
      showSecrets(progress.secrets, progress.choices!.get("key_fingerprint")!);
      forgetSecrets(session.directory);
      return keyIsGiven ? ["OP_MASTER_KEY is the one given"] : undefined;
    },
  };
}

function showSecrets({ masterKey, adminClientSecret, keyIsGiven }: MadeSecrets, fingerprint: string): void {
  console.log(`
Shown once. Store both with your other secrets: they cannot be read back, and without the key nothing of this deployment can be
restored (docs/operating/failures.md).
${keyIsGiven ? "" : `\n  OP_MASTER_KEY  ${masterKey}   (fingerprint ${fingerprint})`}
  client_id      ${adminClientId}
  client_secret  ${adminClientSecret}
`);
}

function verificationStep(session: Session, progress: Progress): DeployStep {
  return {
    title: "Verification",
    async run() {
      return verifyDeployment({
        issuer: session.issuer,
        reach: session.reach,
        client: await temporaryClient(session, progress),
        factsToken: progress.choices!.get("facts_token")!,
        versions: await readVersions(session),
        keys: { OP_MASTER_KEY: progress.choices!.get("key_fingerprint")! },
        updateDelayMs: session.environment.platform.objectUpdateDelaySeconds * 1000,
      });
    },
  };
}
