import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";

/** A new nonce begins with each step. */
const stepMs = 60_000;
/** A nonce is accepted during its step and the two after it: for two to three minutes. */
const acceptedSteps = 2;

/**
 * **Nonces of this provider for DPoP proofs** (RFC 9449 §8): the number of a time step and a MAC over it. Nothing is stored: every
 * isolate creates and accepts the same nonces. A nonce limits how long before its use a proof can have been made. Cost: 1 MAC.
 */
export async function currentNonce(env: MasterKeyBindings, atMs: number): Promise<string> {
  const step = stepOf(atMs);
  return `${step}.${await macText(env, "dpop-nonce", String(step))}`;
}

/** `current`: from this step. `old`: accepted, but the client should use a new one. `refused`: expired, or not issued by this provider. */
export async function judgeNonce(
  env: MasterKeyBindings,
  nonce: string,
  atMs: number,
): Promise<"current" | "old" | "refused"> {
  const match = /^([1-9][0-9]{0,11})\.([A-Za-z0-9_-]{22})$/.exec(nonce);
  if (match === null) return "refused";
  const age = stepOf(atMs) - Number(match[1]);
  // The clock of the isolate that created it may be ahead.
  if (age < -1 || age > acceptedSteps) return "refused";
  if (!(await verifyMac(env, "dpop-nonce", match[1]!, match[2]!))) return "refused";
  return age > 0 ? "old" : "current";
}

function stepOf(atMs: number): number {
  return Math.floor(atMs / stepMs);
}
