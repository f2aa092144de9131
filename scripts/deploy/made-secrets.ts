import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keyFingerprint } from "../../packages/shared/src/secrets/deployment-facts.ts";
import { Refusal } from "./refusal.ts";

/**
 * **The secrets of a first deployment**: made once and kept, readable by the owner alone, until the deployment has been completed and
 * they have been shown. A run that was interrupted continues with the same ones. A given `OP_MASTER_KEY` is never written anywhere.
 */
export interface MadeSecrets {
  readonly masterKey: string;
  readonly adminClientSecret: string;
  /** The key came from the environment: it is not shown. */
  readonly keyIsGiven: boolean;
}

interface Kept {
  readonly OP_MASTER_KEY?: string;
  readonly adminClientSecret: string;
}

function pathIn(directory: string): string {
  return join(directory, "unfinished.json");
}

/** The key that this run can use: given, or kept by an unfinished run; `undefined` for neither. */
export async function findMasterKey(directory: string): Promise<{ key: string; fingerprint: string } | undefined> {
  const key = process.env["OP_MASTER_KEY"] || readKept(directory)?.OP_MASTER_KEY;
  if (key === undefined) return undefined;
  const fingerprint = await keyFingerprint(key);
  if (fingerprint === undefined) throw new Refusal(["OP_MASTER_KEY must be 32 bytes, base64url without padding."]);
  return { key, fingerprint };
}

/** Those of the unfinished run, else new ones. */
export function keepSecrets(directory: string): MadeSecrets {
  const given = process.env["OP_MASTER_KEY"] || undefined;
  const kept = readKept(directory);
  const made: Kept = {
    adminClientSecret: kept?.adminClientSecret ?? randomBytes(32).toString("base64url"),
    ...(given === undefined ? { OP_MASTER_KEY: kept?.OP_MASTER_KEY ?? randomBytes(32).toString("base64url") } : {}),
  };
  writeFileSync(pathIn(directory), `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  return {
    masterKey: given ?? made.OP_MASTER_KEY!,
    adminClientSecret: made.adminClientSecret,
    keyIsGiven: given !== undefined,
  };
}

export function forgetSecrets(directory: string): void {
  rmSync(pathIn(directory), { force: true });
}

function readKept(directory: string): Kept | undefined {
  const path = pathIn(directory);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Kept) : undefined;
}
