import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkerName } from "../../packages/edge-op/src/workers.ts";
import type { MadeSecrets } from "./made-secrets.ts";
import { query, type Session } from "./session.ts";
import { makeTemporaryClient, type TemporaryClient } from "./temporary-client.ts";
import { type StoreIds, workerConfiguration } from "./worker-configuration.ts";

export interface Upload {
  readonly name: WorkerName;
  readonly configuration: string;
  readonly hash: string;
  /** The version before it. */
  readonly before: string | undefined;
  readonly isUnchanged: boolean;
}

/** **Results that the steps of a deployment pass to each other.** */
export interface Progress {
  ids?: StoreIds;
  choices?: ReadonlyMap<string, string>;
  secrets?: MadeSecrets;
  client?: TemporaryClient;
  /** The Workers of this run in order; also the one whose upload failed. */
  readonly uploads: Upload[];
  /** Workers that are as they were. */
  readonly unchanged: WorkerName[];
  /** Stores and migrations of this run. */
  readonly made: string[];
}

export function newProgress(): Progress {
  return { uploads: [], unchanged: [], made: [] };
}

export function databaseOf(progress: Progress): string {
  return progress.ids!.databases["DB"]!;
}

export function writeConfiguration(session: Session, progress: Progress, name: WorkerName): string {
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

export async function temporaryClient(session: Session, progress: Progress): Promise<TemporaryClient> {
  if (progress.client !== undefined) return progress.client;
  const client = await makeTemporaryClient(session.issuer, Date.now());
  await query(session, databaseOf(progress), client.create);
  progress.client = client;
  return client;
}

export async function removeTemporaryClient(session: Session, progress: Progress): Promise<void> {
  if (progress.client !== undefined) await query(session, databaseOf(progress), progress.client.remove);
}
