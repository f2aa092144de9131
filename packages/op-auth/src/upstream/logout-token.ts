import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { findClockFault, isTime } from "@edge-op/protocol/encoding/seconds";
import { type DecodedJwt, isTokenType } from "@edge-op/protocol/jwt/decode-claims";

/** The member of `events` that makes a security event a logout (OIDC Back-Channel Logout §2.4). */
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/** A token without explicit type is accepted, because `events` and the absence of `nonce` distinguish it from an ID token (§4.1). */
const logoutTypes = ["logout+jwt", "JWT"];

/** Longer than any provider repeats one. The ids of messages are known for longer. */
const oldestSeconds = 10 * 60;
const longestName = 255;

export interface ExpectedMessage {
  readonly issuer: string;
  /** This provider's client there. */
  readonly clientId: string;
  readonly nowSeconds: number;
}

/** **What a logout token says**: whose sessions have ended, or which one. */
export interface LogoutClaims {
  readonly jti: string;
  readonly issuedAt: number;
  readonly sub: string | undefined;
  readonly sid: string | undefined;
}

/**
 * **Validates the claims and the type of a logout token**, whose signature is verified after it. Pure. Returns the name of what is wrong, for the
 * log: the sender learns only that the token is not valid.
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation
 */
export function validateLogoutToken(
  { header, claims }: DecodedJwt,
  { issuer, clientId, nowSeconds }: ExpectedMessage,
): LogoutClaims | { readonly fault: string } {
  const { iss, aud, iat, exp, jti, events, nonce, sub, sid } = claims;
  const event = isJsonObject(events) && Object.hasOwn(events, logoutEvent) ? events[logoutEvent] : undefined;
  const clock = findClockFault({ iat, exp }, nowSeconds);
  // Each is a MUST of §2.4 or §2.6, or of the validation of ID tokens to which they refer (OIDC Core §3.1.3.7).
  const checks: readonly Check[] = [
    [header.typ === undefined || isTokenType(header.typ, logoutTypes), "typ"],
    [iss === issuer, "iss"],
    // An audience besides this client is not trusted.
    [aud === clientId || (Array.isArray(aud) && aud.length > 0 && aud.every((each) => each === clientId)), "aud"],
    [isTime(iat), "iat"],
    [isTime(exp), "exp"],
    [clock === undefined, clock ?? ""],
    [isTime(iat) && iat > nowSeconds - oldestSeconds, "iat: too long ago"],
    [isName(jti), "jti"],
    [isJsonObject(event), "events"],
    [nonce === undefined, "nonce"],
    [sub === undefined || isName(sub), "sub"],
    [sid === undefined || isName(sid), "sid"],
    [sub !== undefined || sid !== undefined, "neither sub nor sid"],
  ];
  const fault = faultOf(checks);
  if (fault !== undefined) return { fault };
  return {
    jti: jti as string,
    issuedAt: iat as number,
    sub: sub as string | undefined,
    sid: sid as string | undefined,
  };
}

type Check = readonly [isRight: boolean, fault: string];

function faultOf(checks: readonly Check[]): string | undefined {
  return checks.find(([isRight]) => !isRight)?.[1];
}

/** As Okta names it; the draft names no type. Without it, another JWT of the provider could be one. */
const revocationTypes = ["global-token-revocation+jwt"];

/** **What the bearer token of a revocation says**: that the provider asks for it, once. Whom it is about is in the body. */
export interface RevocationClaims {
  readonly jti: string;
  readonly issuedAt: number;
}

/**
 * **Validates the claims and the type of the bearer token of a revocation** for this endpoint, whose signature is verified after it. Pure.
 *
 * @see https://developer.okta.com/docs/guides/oin-universal-logout-overview/
 */
export function validateRevocationToken(
  { header, claims }: DecodedJwt,
  { issuer, clientId, nowSeconds, endpoint }: ExpectedMessage & { readonly endpoint: string },
): RevocationClaims | { readonly fault: string } {
  const { iss, aud, iat, exp, nbf, jti, sub } = claims;
  const clock = findClockFault({ iat, exp, nbf }, nowSeconds);
  const fault = faultOf([
    [isTokenType(header.typ, revocationTypes), "typ"],
    [iss === issuer, "iss"],
    [aud === endpoint || (Array.isArray(aud) && aud.length === 1 && aud[0] === endpoint), "aud"],
    [sub === clientId, "sub"],
    [isTime(iat), "iat"],
    [isTime(exp), "exp"],
    [nbf === undefined || isTime(nbf), "nbf"],
    [clock === undefined, clock ?? ""],
    [isTime(iat) && iat > nowSeconds - oldestSeconds, "iat: too long ago"],
    [isTime(exp) && exp <= nowSeconds + oldestSeconds, "exp: too far ahead"],
    [isName(jti), "jti"],
  ]);
  return fault === undefined ? { jti: jti as string, issuedAt: iat as number } : { fault };
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= longestName;
}
