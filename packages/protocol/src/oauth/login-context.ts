import type { DetailsText } from "./authorization-details.ts";
import type { ClaimsRequest } from "./claims.ts";
import type { KeyConfirmation } from "./confirmation.ts";

/**
 * **How and when a user signed in, as contained in tokens** (OIDC Core §2); unknown members are `undefined`. Access tokens, ID tokens and exchanged
 * tokens only read and write it here.
 */
export interface AuthenticationEvent {
  readonly authTimeSeconds: number | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[] | undefined;
}

/** The authentication event of a larger object, without its other members. */
export function authenticationEvent({ authTimeSeconds, acr, amr }: AuthenticationEvent): AuthenticationEvent {
  return { authTimeSeconds, acr, amr };
}

/** The claims of a token; `undefined` members are omitted from the JSON. */
export function authenticationClaims({ authTimeSeconds, acr, amr }: Partial<AuthenticationEvent>) {
  return { auth_time: authTimeSeconds, acr, amr: amr?.length ? amr : undefined };
}

/** Ignores claims that do not have the form in which they are written. */
export function readAuthenticationClaims(claims: Readonly<Record<string, unknown>>): AuthenticationEvent {
  const { auth_time: authTime, acr, amr } = claims;
  return {
    authTimeSeconds: typeof authTime === "number" && Number.isFinite(authTime) ? authTime : undefined,
    acr: typeof acr === "string" ? acr : undefined,
    amr: Array.isArray(amr) && amr.every((value) => typeof value === "string") ? amr : undefined,
  };
}

/**
 * **The login context: the contribution of one login to every token issued from it.** It is set at /authorize, contained in the authorization code
 * and the first refresh token ({@link packLogin}), stored as members of the refresh family (JSON; members missing in a row are `undefined`), and
 * written by op-token. To add an attribute: its member, `loginMembers` and {@link loginContext} here, its value in plan-grant.ts, its claim where it
 * is issued.
 */
export interface LoginContext extends AuthenticationEvent {
  readonly sub: string;
  /** The `sub` that the client sees instead (OIDC Core §8.1); `undefined` for a public subject. */
  readonly pairwiseSub: string | undefined;
  /** The session, for `sid` and logout. */
  readonly sid: string | undefined;
  /** The `claims` parameter of the authorization request. */
  readonly claims: ClaimsRequest | undefined;
  /** The authorized details (RFC 9396). */
  readonly authorizationDetails: DetailsText | undefined;
  /** The key that must be proven to use the code or the refresh token; access tokens are bound to the key of their own request. */
  readonly cnf: KeyConfirmation | undefined;
  /** The organisation for which the person acts; absent: none (ADR 72). The last member, which {@link packLogin} leaves out without one. */
  readonly orgId?: string | undefined;
}

const loginMembers = Object.keys({
  ...{ sub: true, pairwiseSub: true, sid: true, acr: true, amr: true, claims: true, authorizationDetails: true },
  ...{ authTimeSeconds: true, cnf: true, orgId: true },
} satisfies Record<keyof LoginContext, true>) as readonly (keyof LoginContext)[];

/** The login context as a list of values, for JSON in a text that a client keeps: a third shorter than with names. */
export function packLogin(login: LoginContext): readonly unknown[] {
  const values = loginMembers.map((name) => login[name]);
  return login.orgId === undefined ? values.slice(0, -1) : values;
}

/** Reads the result of {@link packLogin} from JSON. */
export function unpackLogin(values: readonly unknown[]): LoginContext {
  return Object.fromEntries(loginMembers.map((name, index) => [name, values[index] ?? undefined])) as never;
}

/** The login context of a larger object, without its other members. */
export function loginContext(of: LoginContext): LoginContext {
  const { sub, pairwiseSub, sid, claims, authorizationDetails, cnf, orgId } = of;
  return { sub, pairwiseSub, sid, claims, authorizationDetails, cnf, orgId, ...authenticationEvent(of) };
}
