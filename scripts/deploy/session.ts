import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import { chooseAccount } from "./accounts.ts";
import { CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import { type Environment, isShape } from "./environment.ts";
import { findConflicts } from "./find-conflicts.ts";
import { type Inventory, queryDatabase, readAddress, readInventory } from "./inventory.ts";
import { findMasterKey } from "./made-secrets.ts";
import { wrongMigrations } from "./migrations.ts";
import { fetchOf } from "./reach-issuer.ts";
import { Refusal } from "./refusal.ts";
import { deployedWorkerName, workersOf } from "./shape.ts";
import { type StoreNames, storeNames } from "./worker-configuration.ts";
import { findToken, runWrangler, type SecretTexts, showWrangler } from "./wrangler.ts";

/** **One run of a command on an environment**: access to the account, and the inventory from before any change. */
export interface Session {
  readonly environment: Environment;
  /** Directory of the environment's generated files. */
  readonly directory: string;
  readonly api: CloudflareApi;
  readonly account: string;
  readonly issuer: string;
  readonly names: StoreNames;
  readonly inventory: Inventory;
  /** The master key that this run can use, if any. */
  readonly masterKey: { readonly key: string; readonly fingerprint: string } | undefined;
  readonly reach: typeof fetch;
  wrangler(...command: readonly string[]): Promise<void>;
  /** In this terminal; returns its status. */
  showWrangler(...command: readonly string[]): Promise<number>;
  /** The last argument is an option whose value is the file of the secrets. */
  wranglerWithSecrets(secrets: SecretTexts, ...command: readonly string[]): Promise<void>;
}

export interface SessionOptions {
  readonly account: string | undefined;
  readonly origin: string | undefined;
  readonly verbose: boolean;
}

/** Reads alone: whatever fails, nothing was changed. */
export async function openSession(
  environment: Environment,
  directory: string,
  options: SessionOptions,
): Promise<Session> {
  try {
    return await readSession(environment, directory, options);
  } catch (error) {
    if (error instanceof CloudflareError && error.status === 403) throw new Refusal([error.message]);
    throw error;
  }
}

async function readSession(environment: Environment, directory: string, options: SessionOptions): Promise<Session> {
  const masterKey = await findMasterKey(directory);
  const token = await findToken();
  const api = new CloudflareApi(token, { jurisdiction: environment.jurisdiction });
  const account = await chooseAccount(api, options.account ?? environment.account);
  const own = environment.account !== undefined && (await chooseAccount(api, environment.account));
  if (own !== false && own !== account) {
    throw new Refusal([`The environment "${environment.name}" belongs to the account ${own}, not to ${account}.`]);
  }
  const found = await readAccount(api, account, environment);
  const shape = found.inventory.recorded?.get("shape");
  const isOtherShape = !environment.isShapeGiven && isShape(shape) && shape !== environment.shape;
  const session = { directory, token, api, account, masterKey };
  if (!isOtherShape) return newSession({ ...session, environment, ...found }, options);
  const recorded = { ...environment, shape };
  return newSession({ ...session, environment: recorded, ...(await readAccount(api, account, recorded)) }, options);
}

async function readAccount(api: CloudflareApi, account: string, environment: Environment) {
  const names = storeNames(environment);
  const address = await readAddress(api, account, environment);
  if (typeof address === "string") throw new Refusal([address]);
  return { names, inventory: await readInventory(api, account, environment, names, address) };
}

type Opened = Pick<Session, "environment" | "directory" | "api" | "account" | "names" | "inventory" | "masterKey"> & {
  readonly token: string;
};

function newSession({ token, ...opened }: Opened, options: SessionOptions): Session {
  const { account, environment, inventory } = opened;
  const { address } = inventory;
  const access = { token, account, verbose: options.verbose };
  return {
    ...opened,
    issuer: address.issuer,
    reach: fetchOf(address.issuer, options.origin, environment.variables["MTLS_ORIGIN"]),
    wrangler: (...command) => runWrangler(command, access),
    showWrangler: (...command) => showWrangler(command, access),
    wranglerWithSecrets: (secrets, ...command) => runWrangler(command, access, secrets),
  };
}

export interface Intent {
  /** A replacement of the key has its own checks. */
  readonly replacesKey?: true;
  readonly migrates?: true;
}

/** If this throws, nothing was changed. */
export function refuseConflicts(session: Session, { replacesKey, migrates }: Intent = {}): void {
  const { environment, names, inventory, masterKey } = session;
  const fingerprint = replacesKey ? undefined : masterKey?.fingerprint;
  const conflicts = [
    ...findConflicts(environment, names, inventory, { fingerprint }),
    ...(migrates ? findWrongMigrations(session) : []),
  ];
  if (conflicts.length > 0) throw new Refusal(conflicts);
}

export function findWrongMigrations({ environment, names, inventory }: Session): string[] {
  return inventory.databaseIsForeign ? [] : wrongMigrations(names.databases, inventory, environment.takeOver);
}

/** Runs statements in the environment's main database, in one transaction. */
export function query(session: Session, database: string, sql: string): Promise<Record<string, unknown>[]> {
  return queryDatabase(session.api, session.account, database, sql);
}

export interface DeploymentList {
  readonly deployments: readonly {
    readonly created_on: string;
    readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
  }[];
}

/** The deployments of a Worker, newest first; none if it does not exist. */
export async function readDeployments(
  { api, account, environment }: Session,
  name: WorkerName,
): Promise<DeploymentList> {
  const script = deployedWorkerName(environment.prefix, name);
  const found = await api.find<DeploymentList>(`/accounts/${account}/workers/scripts/${script}/deployments`);
  return found ?? { deployments: [] };
}

/** The version of each existing Worker that most requests reach. */
export async function readVersions(session: Session): Promise<Record<string, string>> {
  const versions = await Promise.all(
    workersOf(session.environment).map(async ({ name }): Promise<[string, string][]> => {
      const [newest] = (await readDeployments(session, name)).deployments;
      const [version] = [...(newest?.versions ?? [])].sort((a, b) => b.percentage - a.percentage);
      return version === undefined ? [] : [[name, version.version_id]];
    }),
  );
  return Object.fromEntries(versions.flat());
}
