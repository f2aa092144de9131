import { decodeProtectedHeader } from "jose/decode/protected_header";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { compactVerify } from "jose/jws/compact/verify";
import { importJWK } from "jose/key/import";
import { decodeBase64Url, encodeUtf8 } from "../encoding/bytes.ts";
import { isTokenType } from "../jwt/decode-claims.ts";
import type { ProofFault } from "../oauth/proof-faults.ts";

/** The algorithms that a proof may use: only asymmetric ones (RFC 9449 §4.2). Published in the provider metadata. */
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

/** WebCrypto's parameters for verification. */
const verifyParameters: Readonly<Record<ProofAlgorithm, SubtleCryptoSignAlgorithm>> = {
  ES256: { name: "ECDSA", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
  PS256: { name: "RSA-PSS", saltLength: 32 },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
};

/** Private and symmetric members of a JWK (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The key in a proof's header, which may sign proofs. */
export interface ProofKey {
  readonly alg: ProofAlgorithm;
  readonly jkt: string;
  readonly publicKey: CryptoKey;
}

/** The key of a proof's header (RFC 9449 §4.2), or the fault of the header. */
export async function readProofKey(proof: string): Promise<ProofKey | ProofFault> {
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

/** Verifies with the library, which refuses headers that it does not understand and keys that are too short. */
export async function isFirstSignedBy(proof: string, { alg, publicKey }: ProofKey): Promise<boolean> {
  try {
    await compactVerify(proof, publicKey, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

/** Verifies a proof whose header was accepted earlier. */
export async function isSignedBy(proof: string, { alg, publicKey }: ProofKey): Promise<boolean> {
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
