import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader } from "jose";
import { isolateMemory } from "../config/limits.ts";
import { decodeJwt, isTokenType, type JwtClaims } from "../jwt/decode-claims.ts";
import type { ProofFault } from "../oauth/proof-faults.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";

/** The algorithms that a proof may use: asymmetric ones alone (RFC 9449 §4.2). Published in the provider metadata. */
export const proofAlgorithms = ["ES256", "EdDSA", "PS256", "RS256"] as const;

type ProofAlgorithm = (typeof proofAlgorithms)[number];

interface KeyForm {
  readonly kty: string;
  readonly crv?: string;
  /** The members of the public key; they are also those of its thumbprint (RFC 7638 §3.2). */
  readonly members: readonly ("n" | "e" | "x" | "y")[];
}

const rsa: KeyForm = { kty: "RSA", members: ["n", "e"] };
const keyForms: Readonly<Record<ProofAlgorithm, KeyForm>> = {
  ES256: { kty: "EC", crv: "P-256", members: ["x", "y"] },
  EdDSA: { kty: "OKP", crv: "Ed25519", members: ["x"] },
  PS256: rsa,
  RS256: rsa,
};

/** Private and symmetric members of a JWK (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The estimated size of an imported public key. */
const importedKeyBytes = 1_024;
/** A header is used again for as long as its client keeps its key; the oldest ones leave a full cache. */
const keptMs = 3_600_000;
/** A header with an RSA key of 4096 bits has about 1,000 characters. */
const longestProof = 8_192;

interface ProofKey {
  readonly alg: ProofAlgorithm;
  readonly jwk: JsonWebKey;
  readonly jkt: string;
}

/** A proof with a valid signature. Its claims are not checked yet. */
export interface SignedProof {
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string;
  readonly alg: string;
  readonly claims: JwtClaims;
}

/**
 * **Verifies the form and the signature of DPoP proofs** (RFC 9449 §4.3, items 2 to 7). Keys are cached by the text of the header,
 * which is the same in all proofs of a client. Cost: 1 verification; a new key adds its import and its thumbprint.
 */
export class ProofKeys {
  readonly #keys = new IsolateCache<ProofKey>({
    maxBytes: isolateMemory.proofKeys,
    attachedBytes: () => importedKeyBytes,
  });

  get heldBytes(): number {
    return this.#keys.bytes;
  }

  /** Returns the reason if it is not a valid proof; the reason names no secret. */
  async verify(proof: string, atMs: number): Promise<SignedProof | ProofFault> {
    if (proof.length > longestProof) return "dpop-too-long";
    const decoded = decodeJwt(proof);
    if (decoded === undefined) return "dpop-malformed";
    const headerText = proof.slice(0, proof.indexOf("."));
    const held = this.#keys.get(headerText, atMs);
    const key = held ?? (await readKey(proof));
    if (typeof key === "string") return key;
    if (!(await isSignedBy(proof, key))) return "dpop-signature";
    if (held === undefined) this.#keys.set(headerText, key, atMs + keptMs);
    return { jkt: key.jkt, alg: key.alg, claims: decoded.claims };
  }
}

async function readKey(proof: string): Promise<ProofKey | ProofFault> {
  const { typ, alg, jwk } = decodeProtectedHeader(proof);
  if (!isTokenType(typ, ["dpop+jwt"])) return "dpop-typ";
  if (!isProofAlgorithm(alg)) return "dpop-alg";
  if (typeof jwk !== "object" || jwk === null) return "dpop-jwk-missing";
  const given: Readonly<Record<string, unknown>> = { ...jwk };
  if (privateMembers.some((name) => Object.hasOwn(given, name))) return "dpop-jwk-private";
  const { kty, crv, members } = keyForms[alg];
  if (given["kty"] !== kty || (crv !== undefined && given["crv"] !== crv)) return "dpop-jwk-alg";
  const publicKey: JsonWebKey = crv === undefined ? { kty } : { kty, crv };
  for (const name of members) {
    const member = given[name];
    if (typeof member !== "string") return "dpop-jwk-malformed";
    publicKey[name] = member;
  }
  return { alg, jwk: publicKey, jkt: await calculateJwkThumbprint({ ...publicKey, kty }) };
}

function isProofAlgorithm(alg: unknown): alg is ProofAlgorithm {
  return proofAlgorithms.some((known) => known === alg);
}

/** The library refuses keys that are malformed or too short. It imports a key object once. */
async function isSignedBy(proof: string, { alg, jwk }: ProofKey): Promise<boolean> {
  try {
    await compactVerify(proof, jwk, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
