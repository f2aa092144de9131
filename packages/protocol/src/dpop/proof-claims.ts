import { clockDifference, findClockFault, foreignClockSkewSeconds, isTime, toSeconds } from "../encoding/seconds.ts";
import type { JwtClaims } from "../jwt/decode-claims.ts";
import type { ProofFault } from "../oauth/proof-faults.ts";

/** Maximum age of a proof without a fresh nonce (RFC 9449 §11.1: seconds or minutes). */
const proofSeconds = 60;
/** Maximum difference between this clock and the `iat` of a proof with a fresh nonce, which bounds its age. */
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
  /** Whether the proof contains a fresh nonce of this provider. */
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

/** When a nonce is fresh, on the clock that judges it. */
export interface NonceLife {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** When a proof can be accepted, on any clock of the deployment. */
export interface ProofLife {
  /** No request with the proof can be accepted before; a later proof is newer than anything that happened until then. */
  readonly notBeforeMs: number;
  /** From then on it is refused for its age alone; its `jti` is remembered until then. */
  readonly untilMs: number;
}

/**
 * **When a proof can be accepted**: a function of the proof alone, so that it is remembered for as long as anyone may accept it, whether or not its
 * nonce was fresh when it was used. `nonce`: the life of its nonce of this provider.
 */
export function proofLife(iat: number, nonce: NonceLife | undefined): ProofLife {
  const without = acceptedSeconds(false);
  const skewMs = foreignClockSkewSeconds * 1000;
  const endsMs = (iat + without.past) * 1000;
  if (nonce === undefined) return { notBeforeMs: (iat - without.future) * 1000, untilMs: endsMs + skewMs };
  const within = acceptedSeconds(true);
  return {
    notBeforeMs: Math.max(nonce.fromMs, (iat - within.future) * 1000),
    untilMs: Math.max(endsMs, Math.min(nonce.untilMs, (iat + within.past) * 1000)) + skewMs,
  };
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
