import { clockDifference, findClockFault, foreignClockSkewSeconds, isTime, toSeconds } from "../encoding/seconds.ts";
import type { JwtClaims } from "../jwt/decode-claims.ts";
import type { ProofFault } from "../oauth/proof-faults.ts";

/** Maximum age of a proof without a nonce (RFC 9449 §11.1: seconds or minutes); its `jti` is remembered for as long. */
const proofSeconds = 60;
/** Maximum difference between this clock and the `iat` of a proof with a nonce; the nonce bounds its age. */
const proofWithNonceSeconds = 300;
/** Maximum length of a proof's `jti`; only a hash is stored. */
const longestProofId = 256;

/** The request that a proof must match. */
export interface ProofTarget {
  readonly method: string;
  /** The URIs of the endpoint, under the issuer and its alias for mutual TLS, without query and fragment. */
  readonly uris: readonly string[];
  /** The hash of the access token that is presented with the proof; `undefined` if there is none. */
  readonly accessTokenHash: string | undefined;
  /** Whether the proof contains a nonce of this provider that is still accepted. */
  readonly hasNonce: boolean;
  readonly atMs: number;
}

/** `clock`: how far the claim is from this clock, if that is the fault. */
interface FoundFault {
  readonly fault: ProofFault;
  readonly clock?: string | undefined;
}

/**
 * **Checks the claims of a DPoP proof** (RFC 9449 §4.3, items 3 and 8 to 12). Pure. Returns the fault, or `undefined`. A nonce determines the time of
 * the proof, so a client whose clock is wrong by minutes is accepted (item 11).
 */
export function findProofFault(claims: JwtClaims, target: ProofTarget): FoundFault | undefined {
  const { jti, htm, htu, ath } = claims;
  if (typeof jti !== "string" || jti === "" || jti.length > longestProofId) return { fault: "dpop-jti" };
  if (htm !== target.method) return { fault: "dpop-htm" };
  if (typeof htu !== "string" || !isAmong(target.uris, htu)) return { fault: "dpop-htu" };
  if (target.accessTokenHash !== undefined && ath !== target.accessTokenHash) return { fault: "dpop-ath" };
  return findTimeFault(claims, target);
}

function findTimeFault({ iat, exp, nbf }: JwtClaims, target: ProofTarget): FoundFault | undefined {
  const now = toSeconds(target.atMs);
  const { past, future } = acceptedSeconds(target.hasNonce);
  if (!isTime(iat)) return { fault: "dpop-iat-missing" };
  if (iat < now - past || iat > now + future) return { fault: "dpop-iat", clock: clockDifference("iat", iat, now) };
  const [expired, early] = [findClockFault({ exp }, now), findClockFault({ nbf }, now)];
  if (expired !== undefined || (exp !== undefined && !isTime(exp))) return { fault: "dpop-exp", clock: expired };
  if (early !== undefined || (nbf !== undefined && !isTime(nbf))) return { fault: "dpop-nbf", clock: early };
  return undefined;
}

/** The time from which a proof with these claims is refused for its age alone; its `jti` is remembered until then. */
export function proofEndsMs(iat: number, hasNonce: boolean): number {
  return (iat + acceptedSeconds(hasNonce).past + foreignClockSkewSeconds) * 1000;
}

function acceptedSeconds(hasNonce: boolean): { readonly past: number; readonly future: number } {
  if (hasNonce) return { past: proofWithNonceSeconds, future: proofWithNonceSeconds };
  return { past: proofSeconds, future: foreignClockSkewSeconds };
}

/** Most clients send the published text, which needs no parsing. */
function isAmong(uris: readonly string[], htu: string): boolean {
  if (uris.includes(htu)) return true;
  const named = normalizedUri(htu);
  return named !== undefined && uris.some((uri) => normalizedUri(uri) === named);
}

/** A URI contains no backslash or white space (RFC 3986 §2), which the platform's parser would replace or remove. */
const uriCharacters = /^[\x21-\x5b\x5d-\x7e]+$/;

/**
 * Compared without query and fragment, after the normalization of RFC 3986 §6.2.2 and §6.2.3. `undefined` for anything except an absolute http or
 * https URI without user information.
 */
function normalizedUri(text: string): string | undefined {
  if (!uriCharacters.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.password !== "") {
    return undefined;
  }
  return url.origin + url.pathname.replace(/%[0-9a-f]{2}/gi, decodeUnreserved);
}

function decodeUnreserved(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
}
