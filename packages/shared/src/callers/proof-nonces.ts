import type { NonceLife } from "@edge-op/protocol/dpop/proof-claims";
import { macText, verifyMac } from "../secrets/mac.ts";
import type { MasterKeyBindings } from "../secrets/master-key.ts";
import type { ProofPlace } from "../storage/challenges.ts";

/** A new nonce begins with each step. */
const stepMs = 60_000;
/** A nonce is fresh during its step and the two after it: for two to three minutes. */
const freshSteps = 2;

/** What an authentic nonce says: the step in which it was issued and, of a nonce that a store has demanded, that store. */
export interface ProofNonce {
  readonly step: number;
  readonly place?: ProofPlace | undefined;
}

/**
 * **Nonces of this provider for DPoP proofs** (RFC 9449 §8): the number of a time step, the store that demanded it, if one did, and a MAC over
 * both. Nothing is stored: every isolate creates and accepts the same nonces. A nonce limits how long before its use a proof can have been made; the
 * name of a store's memory tells the store that the proof is newer than this memory (protocols.md §6). Cost: 1 MAC.
 */
export async function formatNonce(env: MasterKeyBindings, atMs: number, place?: ProofPlace): Promise<string> {
  const text = textOf({ step: stepOf(atMs), place });
  return `${text}.${await macText(env, "dpop-nonce", text)}`;
}

const nonceForm = /^((\d{1,12})(?:\.g(\d{1,6})\.([a-z]{2,8})\.(\d{1,6})\.([A-Za-z0-9_-]{11}))?)\.([A-Za-z0-9_-]{22})$/;

/** `undefined` for a text that this provider has not issued. */
export async function readNonce(env: MasterKeyBindings, nonce: string): Promise<ProofNonce | undefined> {
  const match = nonceForm.exec(nonce);
  if (match === null || !(await verifyMac(env, "dpop-nonce", match[1]!, match[7]!))) return undefined;
  const [, , step, generation, region, shard, boot] = match;
  if (boot === undefined) return { step: Number(step) };
  return {
    step: Number(step),
    place: { address: { generation: Number(generation), region: region!, shard: Number(shard) }, boot },
  };
}

function textOf({ step, place }: ProofNonce): string {
  if (place === undefined) return String(step);
  const { generation, region, shard } = place.address;
  return `${step}.g${generation}.${region}.${shard}.${place.boot}`;
}

/** `ageing`: fresh, but the client should use a newer one. `early`: issued by a clock that is too far ahead. */
export function ageOf({ step }: ProofNonce, atMs: number): "fresh" | "ageing" | "expired" | "early" {
  const age = stepOf(atMs) - step;
  // The clock of the isolate that created it may be ahead.
  if (age < -1) return "early";
  if (age > freshSteps) return "expired";
  return age > 0 ? "ageing" : "fresh";
}

export function lifeOf({ step }: ProofNonce): NonceLife {
  return { fromMs: (step - 1) * stepMs, untilMs: (step + freshSteps + 1) * stepMs };
}

function stepOf(atMs: number): number {
  return Math.floor(atMs / stepMs);
}
