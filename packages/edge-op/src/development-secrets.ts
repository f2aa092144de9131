import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";

/**
 * **The secrets of a local deployment**, generated once and stored beside its state, readable only by the owner. Editing the file replaces the master
 * key (docs/operating/rotate-keys.md).
 */
export interface DevelopmentSecrets extends MasterKeyBindings {
  readonly adminClientSecret: string;
}

const areSecrets = objectOf<DevelopmentSecrets>({ OP_MASTER_KEY: isText, adminClientSecret: isText });

export function loadDevelopmentSecrets(stateDir: string): DevelopmentSecrets {
  const path = join(stateDir, "secrets.json");
  if (existsSync(path)) return readStored(path, readFileSync(path, "utf8"), areSecrets);
  const secrets: DevelopmentSecrets = {
    OP_MASTER_KEY: randomBytes(32).toString("base64url"),
    adminClientSecret: randomBytes(32).toString("base64url"),
  };
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}
