import { findClockFault, isTime, toSeconds } from "@edge-op/protocol/encoding/seconds";
import { type DecodedJwt, isTokenType, type JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { limits } from "../config/limits.ts";
import type { TokenUse, TrustedIssuer } from "./trusted-issuer.ts";

export interface TokenExpectation {
  readonly use: TokenUse;
  /** Requires an ID token: an access token is not accepted as one. */
  readonly idToken?: boolean;
  readonly ownIssuer: string;
  readonly atMs: number;
}

export const idJagType = "oauth-id-jag+jwt";

/**
 * Accepted values of `typ`; for most uses a token may have none. Only an ID-JAG is accepted as an ID-JAG, and an ID-JAG is accepted as nothing else.
 */
const tokenTypesOf: Readonly<Record<TokenUse, readonly string[]>> = {
  assertion: ["JWT", "JOSE", "authorization-grant+jwt"],
  subject_token: ["JWT", "at+jwt"],
  actor_token: ["JWT", "at+jwt"],
  id_jag: [idJagType],
  software_statement: ["JWT", "JOSE"],
};

/**
 * **Checks the claims of a trusted issuer's token**: it must have the type of its use, be intended for this provider, be valid at this time, and be
 * neither delegated nor a token of another kind. Pure; returns every fault, for the log and the dry run.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-3
 * @see https://www.rfc-editor.org/rfc/rfc8725#section-3.11
 */
export function findTokenFaults(
  { issuer, document, status }: TrustedIssuer,
  { header, claims }: Pick<DecodedJwt, "header" | "claims">,
  expectation: TokenExpectation,
): string[] {
  const { use, idToken = false } = expectation;
  if (use === "software_statement")
    return findStatementFaults({ issuer, document, status }, { header, claims }, expectation);
  const faults: string[] = [];
  if (status !== "active") faults.push("the issuer is disabled");
  if (!document.algorithms.some((each) => each === header.alg))
    faults.push(`alg ${header.alg} is not among the issuer's algorithms`);
  const types = idToken ? ["JWT"] : tokenTypesOf[use];
  if (header.typ === undefined ? use === "id_jag" : !isTokenType(header.typ, types)) {
    faults.push(`typ ${header.typ ?? "(none)"} is not one of ${types.join(", ")}`);
  }
  faults.push(...refuseSubject(issuer, claims), ...refuseAudience(document.audiences, claims["aud"], expectation));
  faults.push(...refuseTimes(claims, expectation.atMs, ["exp", "iat"]));
  const { exp, iat } = claims;
  if (isTime(exp) && isTime(iat) && exp - iat > document.max_token_lifetime) {
    faults.push(`lifetime of ${exp - iat} s exceeds max_token_lifetime of ${document.max_token_lifetime} s`);
  }
  const needsId = use === "id_jag" || (use === "assertion" && !document.reusable_assertions);
  const { jti } = claims;
  if (jti === undefined ? needsId : typeof jti !== "string" || jti === "" || jti.length > 256) {
    faults.push("jti is missing, malformed or too long");
  }
  // If these were ignored, a delegated token would become its subject's own; a security event or logout token is not an assertion.
  for (const name of ["act", "events"]) if (claims[name] !== undefined) faults.push(`the token has ${name}`);
  return faults;
}

/**
 * A software statement is valid for as long as its software, perhaps without an end. It must name this provider only if it has an audience.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.3
 */
function findStatementFaults(
  { issuer, document, status }: Pick<TrustedIssuer, "issuer" | "document" | "status">,
  { header, claims }: Pick<DecodedJwt, "header" | "claims">,
  expectation: TokenExpectation,
): string[] {
  const faults: string[] = [];
  if (status !== "active") faults.push("the issuer is disabled");
  if (!document.algorithms.some((each) => each === header.alg))
    faults.push(`alg ${header.alg} is not among the issuer's algorithms`);
  const types = tokenTypesOf.software_statement;
  if (header.typ !== undefined && !isTokenType(header.typ, types))
    faults.push(`typ ${header.typ} is not one of ${types.join(", ")}`);
  if (claims["iss"] !== issuer) faults.push("iss is not the issuer");
  if (claims["aud"] !== undefined) faults.push(...refuseAudience(document.audiences, claims["aud"], expectation));
  return [...faults, ...refuseTimes(claims, expectation.atMs, [])];
}

/** SPIFFE ID §2: no empty, `.` or `..` segment, with which a path could escape an allowed prefix. */
const spiffeId = /^(spiffe:\/\/[a-z0-9._-]{1,255})(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)+$/;

/** The issuer whose record a token belongs to: its `iss` or, for a JWT-SVID without `iss`, the trust domain of its `sub`. */
export function issuerOf({ iss, sub }: JwtClaims): string | undefined {
  if (iss !== undefined) return typeof iss === "string" ? iss : undefined;
  return typeof sub === "string" ? spiffeId.exec(sub)?.[1] : undefined;
}

function refuseSubject(issuer: string, claims: JwtClaims): string[] {
  const { sub } = claims;
  if (typeof sub !== "string" || sub === "" || sub.length > 1_024) return ["sub is missing, malformed or too long"];
  if (issuerOf(claims) !== issuer) return ["iss is not the issuer"];
  return issuer.startsWith("spiffe://") && spiffeId.exec(sub)?.[1] !== issuer ? ["sub is not of the trust domain"] : [];
}

/** Every value of `aud` must belong to this provider, because another audience could replay the token here (RFC 9700 §4.4). */
function refuseAudience(
  configured: readonly string[] | undefined,
  audience: unknown,
  { use, ownIssuer }: TokenExpectation,
): string[] {
  const values: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  const accepted: readonly unknown[] =
    use === "id_jag"
      ? [ownIssuer]
      : (configured ?? (use === "assertion" ? [ownIssuer, `${ownIssuer}/token`] : [ownIssuer]));
  const isFor =
    values.length > 0 && values.length <= limits.audiences && values.every((value) => accepted.includes(value));
  return isFor ? [] : [`aud is not only ${accepted.join(" or ")}`];
}

const timeClaims = ["exp", "iat", "nbf"] as const;

function refuseTimes(claims: JwtClaims, atMs: number, required: readonly string[]): string[] {
  const clock = clockFaultOf(claims, atMs);
  const malformed = timeClaims.filter((name) =>
    claims[name] === undefined ? required.includes(name) : !isTime(claims[name]),
  );
  return [...malformed.map((name) => `${name} is missing or malformed`), ...(clock === undefined ? [] : [clock])];
}

/** How far a token's time claims are from this clock, which its sender is told; `undefined` if it is valid at this time. */
export function clockFaultOf(claims: JwtClaims, atMs: number): string | undefined {
  return findClockFault(claims, toSeconds(atMs));
}
