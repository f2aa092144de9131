import { replaceConsoleSecret } from "../../packages/edge-op/src/admin-client.ts";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import { isAddressServed } from "./inventory.ts";
import { endpointWorkers, readWorkerFacts, requestSealing } from "./read-facts.ts";
import { record } from "./record-choices.ts";
import { Refusal } from "./refusal.ts";
import { RunLock } from "./run-lock.ts";
import { type DeployStep, runDeploySteps } from "./run-steps.ts";
import { query, refuseConflicts, type Session } from "./session.ts";
import { deployedWorkerName, hasSecret, workersOf } from "./shape.ts";
import { adminToken, discover, makeTemporaryClient } from "./temporary-client.ts";
import { awaitHealth, awaitObjects, awaitWorkers } from "./verify.ts";
import { waitFor } from "./wait.ts";

const platformDelaySeconds = 300;
/** 2,000 rows of each table by one call. */
const sealingMs = 3_600_000;
const secretNames = ["OP_MASTER_KEY", "OP_MASTER_KEY_PREVIOUS", "OP_PAIRWISE_KEY"] as const;

/**
 * **`npm run deploy -- secrets`**: sets the secrets that the environment variables contain on every Worker that has secrets, and ends when each
 * Worker and object reports exactly these. It is one step of a replacement of the master key (ADR 6); the next step relies on reported facts.
 * `OP_MASTER_KEY_PREVIOUS=` (empty) deletes it.
 */
export async function replaceSecrets(session: Session): Promise<void> {
  refuseConflicts(session, { replacesKey: true });
  refuseUnserved(session);
  const given = await readGiven(session);
  const { fingerprints, texts } = given;
  const database = session.inventory.databases.get(session.names.databases["DB"]!)!;
  const setEach: DeployStep[] = workersOf(session.environment)
    .filter(({ name }) => hasSecret(name))
    .map(({ name }) => ({
      title: `Secrets of ${name}`,
      async run() {
        const script = deployedWorkerName(session.environment.prefix, name);
        await session.wranglerWithSecrets(texts, "secret", "bulk", "--name", script);
        return undefined;
      },
    }));
  const steps = [
    ...(texts["OP_MASTER_KEY_PREVIOUS"] === null ? [sealingStep(session, database)] : []),
    ...setEach,
    reportStep(session, database, fingerprints),
    ...(isRecorded(session, fingerprints) ? [] : [consoleStep(session, database, texts["OP_MASTER_KEY"]!)]),
    recordStep(session, database, fingerprints),
  ];
  await RunLock.run(session, () => runDeploySteps(steps));
  console.log(
    `\nEvery Worker and object runs ${JSON.stringify(fingerprints)}. ${texts["OP_MASTER_KEY_PREVIOUS"] === null ? "The replacement is complete." : "Go on with the next step (docs/operating/rotate-keys.md)."}`,
  );
}

/** The facts of Workers and objects are read at the issuer. */
function refuseUnserved({ environment, inventory, issuer }: Session): void {
  if (isAddressServed(environment, inventory)) return;
  throw new Refusal([
    `${issuer} is not served by this environment. Create its front door again first: npm run deploy.`,
  ]);
}

async function readGiven(session: Session) {
  const errors: string[] = [];
  const texts: Record<string, string | null> = {};
  const fingerprints: Record<string, string> = {};
  for (const name of secretNames) {
    const text = process.env[name];
    if (text === undefined) continue;
    texts[name] = text === "" ? null : text;
    if (text === "") {
      fingerprints[name] = "";
      continue;
    }
    const fingerprint = await keyFingerprint(text);
    if (fingerprint === undefined) errors.push(`${name} must be 32 bytes, base64url without padding.`);
    else fingerprints[name] = fingerprint;
  }
  if (texts["OP_MASTER_KEY"] === undefined || texts["OP_MASTER_KEY"] === null) {
    errors.push("Set OP_MASTER_KEY: the key that makes everything new from this step on.");
  }
  errors.push(...unreadable(session, fingerprints));
  if (errors.length === 0) errors.push(...(await notReadable(session, fingerprints)));
  if (errors.length > 0) throw new Refusal(errors);
  return { texts, fingerprints };
}

/** Refuses a step after which existing data could not be read: the recorded key must stay or become the previous one. */
function unreadable({ inventory }: Session, fingerprints: Readonly<Record<string, string>>): string[] {
  const recorded = inventory.recorded?.get("key_fingerprint");
  if (recorded === undefined) return ["This environment has not been deployed by npm run deploy."];
  if (Object.values(fingerprints).includes(recorded)) return [];
  return [
    `Neither OP_MASTER_KEY nor OP_MASTER_KEY_PREVIOUS is the key that this deployment runs (fingerprint ${recorded}).`,
  ];
}

/** A key that creates new values must be readable everywhere first, because objects and Workers change at different times. */
async function notReadable(session: Session, fingerprints: Readonly<Record<string, string>>): Promise<string[]> {
  const { issuer, reach, inventory, environment } = session;
  const wanted = fingerprints["OP_MASTER_KEY"];
  if (wanted === undefined || isRecorded(session, fingerprints)) return [];
  const token = inventory.recorded?.get("facts_token") ?? "";
  const workersWithSecrets = endpointWorkers[environment.shape].filter(hasSecret);
  const facts = await Promise.all(workersWithSecrets.map((name) => readWorkerFacts(issuer, name, token, reach)));
  return facts.flatMap((each, index) => {
    const { OP_MASTER_KEY: current, OP_MASTER_KEY_PREVIOUS: other } = each?.keys ?? {};
    return current === wanted || other === wanted
      ? []
      : [`${workersWithSecrets[index]} cannot read what the new key makes: set it as OP_MASTER_KEY_PREVIOUS first.`];
  });
}

/** Whether the deployment creates new values with this key already. */
function isRecorded({ inventory }: Session, fingerprints: Readonly<Record<string, string>>): boolean {
  return fingerprints["OP_MASTER_KEY"] === inventory.recorded?.get("key_fingerprint");
}

function reportStep(session: Session, database: string, keys: Readonly<Record<string, string>>): DeployStep {
  return {
    title: "Every Worker and object runs them",
    async run() {
      const { issuer, reach, environment, inventory } = session;
      const factsToken = inventory.recorded?.get("facts_token") ?? "";
      const common = { issuer, shape: environment.shape, reach, factsToken, keys, versions: {} };
      await awaitHealth(issuer, reach);
      await awaitWorkers(common);
      return withTemporaryClient(session, database, async (newToken) => {
        // A change of secrets takes effect after the platform's delay, regardless of the Worker's configuration.
        const updateDelayMs = Math.max(environment.platform.objectUpdateDelaySeconds, platformDelaySeconds) * 1000;
        const count = await awaitObjects({ ...common, updateDelayMs }, newToken);
        return [`${count} objects`, await sealAgain(session, newToken)];
      });
    },
  };
}

/** Before the previous key is deleted: what only it opens would be lost. */
function sealingStep(session: Session, database: string): DeployStep {
  return {
    title: "Nothing needs the previous key",
    run: () => withTemporaryClient(session, database, async (newToken) => [await sealAgain(session, newToken)]),
  };
}

/** Seals what the previous key has sealed again, and shows what remains. */
async function sealAgain({ issuer, reach }: Session, newToken: () => Promise<string>): Promise<string> {
  const look = async () => {
    const { status, remaining } = await requestSealing(issuer, await newToken(), reach);
    // A release without the operation seals by the daily sweep.
    const left = status === 404 ? 0 : Object.values(remaining).reduce((sum, rows) => sum + rows, 0);
    return left === 0 ? undefined : `${left} secrets remain: ${JSON.stringify(remaining)}`;
  };
  await waitFor(look, { what: "secrets to be sealed again", everyMs: 100, atMostMs: sealingMs });
  return "every stored secret is sealed with the current key";
}

/** The console makes its secret from the key, and tries that of the previous one too. */
function consoleStep(session: Session, database: string, masterKey: string): DeployStep {
  return {
    title: "The console's secret",
    async run() {
      await query(session, database, await replaceConsoleSecret(masterKey, Date.now()));
      return undefined;
    },
  };
}

async function withTemporaryClient<T>(
  session: Session,
  database: string,
  work: (newToken: () => Promise<string>) => Promise<T>,
): Promise<T> {
  const { issuer, reach } = session;
  const client = await makeTemporaryClient(issuer, Date.now());
  await query(session, database, client.create);
  try {
    const config = await discover(issuer, client, reach);
    return await work(() => adminToken(config));
  } finally {
    await query(session, database, client.remove);
  }
}

function recordStep(session: Session, database: string, fingerprints: Readonly<Record<string, string>>): DeployStep {
  return {
    title: "Fingerprint recorded",
    async run() {
      await query(session, database, record("key_fingerprint", fingerprints["OP_MASTER_KEY"]!, Date.now()));
      return [`fingerprint ${fingerprints["OP_MASTER_KEY"]}`];
    },
  };
}
