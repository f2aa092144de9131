import { isNumber, isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import { openSealed, sealText } from "../secrets/seal.ts";

/**
 * **The content of the link of an administrator's reset**, sealed: it is stored nowhere. It proves the mailbox for a day, and ends with the first change that
 * ends what rests on a password, because it rests on a control version as a sign-in does (ADR 28): the new password itself is such a change.
 */
export interface ResetLink {
  readonly sub: string;
  /** The address to which it was mailed. */
  readonly key: string;
  /** Confirmed before it was made. */
  readonly controlVersion: number;
  readonly untilMs: number;
}

/** NIST SP 800-63B-4 §4.2.1.1 */
export const resetLinkMs = 86_400_000;
export const resetPath = "/account/password/reset";

const bound = "link of a reset";
const isResetLink = objectOf<ResetLink>({ sub: isText, key: isText, controlVersion: isNumber, untilMs: isNumber });

/** The path and query of its page. */
export async function resetLinkTo(env: MasterKeyBindings, link: ResetLink): Promise<string> {
  const token = await sealText(env, "flow-seal", JSON.stringify(link), { bound });
  return `${resetPath}?${new URLSearchParams({ token })}`;
}

/** `undefined` for text that this provider did not make, and for a link that has ended. */
export async function openResetLink(
  env: MasterKeyBindings,
  token: string,
  atMs: number,
): Promise<ResetLink | undefined> {
  const text = await openSealed(env, "flow-seal", token, bound);
  const link = text === undefined ? undefined : readStored("link of a reset", text, isResetLink);
  return link !== undefined && link.untilMs > atMs ? link : undefined;
}
