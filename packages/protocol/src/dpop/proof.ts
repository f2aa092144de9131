import { isolateMemory } from "@edge-op/shared/config/limits";
import { IsolateCache } from "@edge-op/shared/runtime/isolate-cache";
import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, importJWK } from "jose";
import { decodeBase64Url, encodeUtf8 } from "../encoding/bytes.ts";
import { decodeJwt, isTokenType, type JwtClaims } from "../jwt/decode-claims.ts";
import type { ProofFault } from "../oauth/proof-faults.ts";

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

/** WebCrypto's parameters. */
const verifyParameters: Readonly<Record<ProofAlgorithm, SubtleCryptoSignAlgorithm>> = {
  ES256: { name: "ECDSA", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
  PS256: { name: "RSA-PSS", saltLength: 32 },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
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
  readonly jkt: string;
  readonly publicKey: CryptoKey;
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
 * which is the same in all proofs of a client: the library checks a header and its key once, and the next proofs with the same header are
 * verified with WebCrypto directly. Cost: 1 verification; a new key adds its import and its thumbprint.
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
    const isSigned = held === undefined ? await isFirstSignedBy(proof, key) : await isSignedBy(proof, key);
    if (!isSigned) return "dpop-signature";
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
  const publicKey: JsonWebKey & { kty: string } = crv === undefined ? { kty } : { kty, crv };
  for (const name of members) {
    const member = given[name];
    if (typeof member !== "string") return "dpop-jwk-malformed";
    publicKey[name] = member;
  }
  return (await importKey(publicKey, alg)) ?? "dpop-signature";
}

/** The library refuses malformed keys. */
async function importKey(jwk: JsonWebKey & { kty: string }, alg: ProofAlgorithm): Promise<ProofKey | undefined> {
  try {
    const publicKey = await importJWK(jwk, alg);
    if (publicKey instanceof Uint8Array) return undefined;
    return { alg, jkt: await calculateJwkThumbprint(jwk), publicKey };
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function isProofAlgorithm(alg: unknown): alg is ProofAlgorithm {
  return proofAlgorithms.some((known) => known === alg);
}

/** With the library, which refuses headers that it does not understand, and keys that are too short. */
async function isFirstSignedBy(proof: string, { alg, publicKey }: ProofKey): Promise<boolean> {
  try {
    await compactVerify(proof, publicKey, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/** The header has been accepted before. */
async function isSignedBy(proof: string, { alg, publicKey }: ProofKey): Promise<boolean> {
  const end = proof.lastIndexOf(".");
  const signature = decodeBase64Url(proof.slice(end + 1));
  if (signature === undefined) return false;
  try {
    return await crypto.subtle.verify(verifyParameters[alg], publicKey, signature, encodeUtf8(proof.slice(0, end)));
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
