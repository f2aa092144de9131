/**
 * **The contract between a resource server and its token validator.** The members and the call are those of Cloudflare's
 * `@cloudflare/workers-oauth-provider`, so that validators and hosts of either library work with the other; `cnf` and the third argument are added
 * here. A validator returns `null` for a token that is not valid for the resource, and throws if it cannot decide.
 */

export interface TokenValidation<Props = TokenClaims> {
  /** The token's claims, or the result of the application's own validator. */
  readonly props: Props;
  /** The resource for which the token was accepted. */
  readonly audience: string;
  /** Seconds since the epoch: until when the token is accepted, with the validator's clock tolerance; `props.exp` is the claim. */
  readonly expiresAt?: number | undefined;
  readonly scope?: readonly string[] | undefined;
  /** The token's subject: the user, or the client if the token was issued to it without a user (then equal to `clientId`). */
  readonly userId?: string | undefined;
  readonly clientId?: string | undefined;
  /** The key that the request must prove. */
  readonly cnf?: Confirmation | undefined;
}

/** A key by its thumbprint: a DPoP key (RFC 9449 §6.1) or a client certificate (RFC 8705 §3.1). */
export type Confirmation = { readonly jkt: string } | { readonly "x5t#S256": string };

export interface ValidationOptions {
  /**
   * The caller verifies the proof of the key that `cnf` names. Without it, the result for a bound token is `null`, because a host that only knows
   * bearer tokens would accept a copied one.
   */
  readonly checksConfirmation?: boolean;
}

export type TokenValidator<Props = TokenClaims> = (
  resource: string,
  token: string,
  options?: ValidationOptions,
) => Promise<TokenValidation<Props> | null>;

/** The Service Binding to the provider's entrypoint `TokenValidation`. */
export interface ProviderBinding {
  validateToken(resource: string, token: string, options?: ValidationOptions): Promise<TokenValidation | null>;
}

/** The claims of an access token (RFC 9068 §2.2) or of an introspection response (RFC 7662 §2.2). */
export interface TokenClaims {
  readonly iss?: string | undefined;
  readonly sub?: string | undefined;
  readonly aud?: string | readonly string[] | undefined;
  readonly client_id?: string | undefined;
  readonly scope?: string | undefined;
  readonly exp?: number | undefined;
  readonly iat?: number | undefined;
  readonly jti?: string | undefined;
  readonly acr?: string | undefined;
  readonly auth_time?: number | undefined;
  readonly cnf?: unknown;
  readonly [claim: string]: unknown;
}

/** Clocks of the provider and of a resource server may differ by this much; the same for `exp`, `nbf` and `iat`. */
export const usualToleranceSeconds = 5;

/**
 * Validates verified claims for one resource. The result is `null` for another audience, no expiry, or a key that the caller does not check.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9068#section-4
 */
export function validateClaims(
  claims: TokenClaims,
  resource: string,
  { checksConfirmation = false }: ValidationOptions = {},
  clockToleranceSeconds: number = usualToleranceSeconds,
): TokenValidation | null {
  const { aud, exp, sub, client_id: clientId, scope, cnf: bound } = claims;
  const audiences = typeof aud === "string" ? [aud] : (aud ?? []);
  if (!audiences.some((audience) => isSameResource(audience, resource)) || typeof exp !== "number") return null;
  const cnf = bound === undefined ? undefined : readConfirmation(bound);
  if (bound !== undefined && (cnf === undefined || !checksConfirmation)) return null;
  return {
    props: claims,
    audience: resource,
    // Hosts compare it with their own clock; without the tolerance they would refuse what the validator has accepted.
    expiresAt: exp + clockToleranceSeconds,
    scope: typeof scope === "string" ? scope.split(" ").filter((value) => value !== "") : [],
    ...(typeof sub === "string" ? { userId: sub } : {}),
    ...(typeof clientId === "string" ? { clientId } : {}),
    ...(cnf === undefined ? {} : { cnf }),
  };
}

/**
 * Compares by code point, except for what RFC 3986 §6.2 calls equal in any http URL: the case of scheme and host, a default port, and an origin with
 * and without its slash. The provider compares in the same way.
 */
export function isSameResource(one: string, other: string): boolean {
  return one === other || canonicalResource(one) === canonicalResource(other);
}

function canonicalResource(resource: string): string {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#@]+)([^#]*)$/i.exec(resource) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return resource;
  const port = scheme.toLowerCase() === "https" ? /:(?:443)?$/ : /:(?:80)?$/;
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  return `${scheme}://${authority.replace(port, "")}`.toLowerCase() + path;
}

/** `undefined` for any `cnf` other than exactly one of the two keys, because it could not be proven. */
export function readConfirmation(cnf: unknown): Confirmation | undefined {
  if (typeof cnf !== "object" || cnf === null) return undefined;
  const [[name, thumbprint] = [], ...others] = Object.entries(cnf);
  if (typeof thumbprint !== "string" || thumbprint === "" || others.length > 0) return undefined;
  if (name === "jkt") return { jkt: thumbprint };
  return name === "x5t#S256" ? { "x5t#S256": thumbprint } : undefined;
}
