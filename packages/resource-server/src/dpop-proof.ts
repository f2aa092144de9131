import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWTVerifyResult, jwtVerify } from "jose";
import { encodeBase64Url, sha256 } from "./digest.ts";

export interface DpopOptions {
  /** Requires a nonce that this server has issued (§9). */
  readonly nonces?: ProofNonces;
  /** Refuses a proof that was used before (§11.1). */
  readonly usedProofs?: UsedProofs;
  readonly toleranceSeconds?: number;
}

export interface ProofNonces {
  /** The nonce for the client's next proof. */
  current(): Promise<string>;
  accepts(nonce: string): Promise<boolean>;
}

export interface UsedProofs {
  /** True for exactly one caller per id, until the time, in seconds since the epoch. */
  spend(id: string, untilSeconds: number): Promise<boolean>;
}

/** Only asymmetric algorithms (§4.2). */
export const proofAlgorithms = ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"] as const;

export const defaultToleranceSeconds = 300;
const longestProof = 8_192;
const longestId = 512;

export interface ProofTarget {
  readonly method: string;
  /** The URI of the request as the client sees it, without query and fragment. */
  readonly uri: string;
  readonly token: string;
  /** The thumbprint of the key that the token is bound to. */
  readonly jkt: string;
  readonly atSeconds: number;
}

export type ProofResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: "invalid_dpop_proof" | "use_dpop_nonce"; readonly detail: string };

/**
 * **Verifies the DPoP proof of a request to a protected resource** (RFC 9449 §4.3, §7.1). By default, a proof is accepted for five minutes before and
 * after its time; a nonce and a store of used proofs are optional. Cost: 1 verification and 1 import of the client's key.
 */
export async function verifyProof(
  proof: string | null,
  target: ProofTarget,
  options: DpopOptions,
): Promise<ProofResult> {
  const fault = (detail: string): ProofResult => ({ ok: false, error: "invalid_dpop_proof", detail });
  if (proof === null) return fault("the request has no proof");
  if (proof.length > longestProof) return fault("it is too long");
  const verified = await verifySignature(proof);
  if (verified === undefined) return fault("it is not a JWT that its own public key has signed");
  const { payload, protectedHeader } = verified;
  const { jti, htm, htu, iat, ath, nonce } = payload;
  if (typeof jti !== "string" || jti === "" || jti.length > longestId) return fault("its jti is missing or too long");
  if (htm !== target.method) return fault("its htm is not the method of the request");
  if (typeof htu !== "string" || normalizeUri(htu) === undefined || normalizeUri(htu) !== normalizeUri(target.uri)) {
    return fault("its htu is not the URI of the request");
  }
  if (ath !== encodeBase64Url(await sha256(target.token))) return fault("its ath is not the hash of the access token");
  if ((await calculateJwkThumbprint(protectedHeader.jwk ?? {})) !== target.jkt)
    return fault("the token has another key");
  const { nonces, usedProofs, toleranceSeconds = defaultToleranceSeconds } = options;
  if (typeof iat !== "number" || Math.abs(iat - target.atSeconds) > toleranceSeconds) {
    return fault("its iat is too far from the time of the server");
  }
  if (nonces !== undefined && !(typeof nonce === "string" && (await nonces.accepts(nonce)))) {
    return { ok: false, error: "use_dpop_nonce", detail: "its nonce is missing or not accepted" };
  }
  // The `jti` is unique in the context of the URI, and stored as a hash, so that a long one costs no more (§11.1).
  const id = encodeBase64Url(await sha256(`${target.jkt} ${target.uri} ${jti}`));
  if (usedProofs !== undefined && !(await usedProofs.spend(id, iat + toleranceSeconds + 1))) {
    return fault("it was used before");
  }
  return { ok: true };
}

/** The library refuses private and symmetric keys in the header. The caller checks the times. */
async function verifySignature(proof: string): Promise<JWTVerifyResult | undefined> {
  try {
    return await jwtVerify(proof, EmbeddedJWK, {
      typ: "dpop+jwt",
      algorithms: [...proofAlgorithms],
      clockTolerance: defaultToleranceSeconds,
    });
  } catch (error) {
    // A malformed key causes a `TypeError` or a `DOMException` of the platform.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      return undefined;
    throw error;
  }
}

/** A URI contains no backslash or white space (RFC 3986 §2), which the platform's parser would replace or remove. */
const uriCharacters = /^[\x21-\x5b\x5d-\x7e]+$/;

/** The URI without query and fragment, normalized by RFC 3986 §6.2.2 and §6.2.3 (§4.3). */
function normalizeUri(text: string): string | undefined {
  if (!uriCharacters.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, username, password, origin, pathname } = new URL(text);
  if (!["https:", "http:"].includes(protocol) || username !== "" || password !== "") return undefined;
  return origin + pathname.replace(/%[0-9a-f]{2}/gi, decodeUnreserved);
}

function decodeUnreserved(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
}
