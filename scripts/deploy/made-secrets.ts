/**
 * **The secrets of a first deployment**: created once and kept, readable only by the owner, until the deployment is complete and they have been
 * shown. A run that was interrupted continues with the same ones. A given `OP_MASTER_KEY` is never written anywhere.
 */

import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import { Refusal } from "./refusal.ts";

export interface MadeSecrets {
  readonly masterKey: string;
  readonly shown: ShownSecrets;
}

/** The secrets that are kept until they are shown; a key that was provided is neither. */
export interface ShownSecrets {
  readonly OP_MASTER_KEY?: string;
  readonly adminClientSecret: string;
}

const fileName = "unfinished.json";

/** The key that this run can use: provided, or kept by an unfinished run; `undefined` for neither. */
export async function findMasterKey(directory: string): Promise<{ key: string; fingerprint: string } | undefined> {
  const key = process.env["OP_MASTER_KEY"] || readKept(directory)?.OP_MASTER_KEY;
  if (key === undefined) return undefined;
  const fingerprint = await keyFingerprint(key);
  if (fingerprint === undefined) throw new Refusal(["OP_MASTER_KEY must be 32 bytes, base64url without padding."]);
  return { key, fingerprint };
}

/** The secrets of the unfinished run, else new ones. */
export function keepSecrets(directory: string): MadeSecrets {
  const given = process.env["OP_MASTER_KEY"] || undefined;
  const kept = readKept(directory);
  const isComplete = kept !== undefined && (kept.OP_MASTER_KEY === undefined) === (given !== undefined);
  const shown = isComplete
    ? kept
    : write(directory, kept, {
        adminClientSecret: kept?.adminClientSecret ?? randomSecret(),
        ...(given === undefined ? { OP_MASTER_KEY: randomSecret() } : {}),
      });
  return { masterKey: given ?? shown.OP_MASTER_KEY!, shown };
}

function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Writes the whole file or nothing. If two runs start at once in one directory, the second uses the secrets of the first. */
function write(directory: string, before: ShownSecrets | undefined, made: ShownSecrets): ShownSecrets {
  const path = join(directory, fileName);
  const own = `${path}.${process.pid}`;
  writeFileSync(own, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  try {
    if (before === undefined) linkSync(own, path);
    else renameSync(own, path);
    return made;
  } catch (error) {
    const other = readKept(directory);
    if (other === undefined) throw error;
    return other;
  } finally {
    rmSync(own, { force: true });
  }
}

export function forgetSecrets(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(fileName)) rmSync(join(directory, name), { force: true });
  }
}

/** The secrets that an unfinished run created; the key is absent if it was provided. */
export function readKept(directory: string): ShownSecrets | undefined {
  const path = join(directory, fileName);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as ShownSecrets) : undefined;
}
