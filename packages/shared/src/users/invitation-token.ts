import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";

/**
 * **The secret of an invitation's link**: its id and a MAC over it, so that no row contains it. Whoever has it reads the mail of the address that was invited.
 */
export async function invitationToken(env: MasterKeyBindings, id: string): Promise<string> {
  return `${id}.${await macText(env, "cookie-mac", textOf(id))}`;
}

/** The id of the invitation; `undefined` for text that this provider did not make. */
export async function readInvitationToken(env: MasterKeyBindings, token: string): Promise<string | undefined> {
  const [id = "", mac = "", ...rest] = token.split(".");
  const isGenuine = rest.length === 0 && (await verifyMac(env, "cookie-mac", textOf(id), mac));
  return isGenuine ? id : undefined;
}

function textOf(id: string): string {
  return `invitation\n${id}`;
}
