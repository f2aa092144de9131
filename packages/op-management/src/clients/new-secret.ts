import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { generateClientSecret, macClientSecret } from "@edge-op/shared/callers/client-secret";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { insertSecret } from "./secret-store.ts";

/** **A new secret of a client**: its value, to be shown once, and the statement that stores its MAC. */
export interface NewSecret {
  readonly id: string;
  readonly value: string;
  readonly statement: D1PreparedStatement;
}

export async function newSecret(
  env: MasterKeyBindings & { readonly DB: D1Database },
  clientId: string,
  atMs: number,
): Promise<NewSecret> {
  const id = randomBase64Url(16);
  const value = generateClientSecret();
  const mac = await macClientSecret(env, value);
  return { id, value, statement: insertSecret(env.DB, { id, clientId, mac, atMs }) };
}
