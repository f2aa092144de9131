import { OAuthError } from "./errors.ts";

const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export function isScopeValue(text: string): boolean {
  return scopeToken.test(text);
}

/** Maximum number of scope values in a request (RFC 6749 §3.3). */
const mostScopes = 32;

/**
 * **Reads a `scope` parameter** into distinct values in the order given. An absent parameter is `undefined`; an empty or malformed one is
 * `invalid_scope`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3
 */
export function parseScope(scope: string | undefined): string[] | undefined {
  if (scope === undefined) return undefined;
  const values = scope.split(" ");
  if (values.length > mostScopes)
    throw new OAuthError("invalid_scope", "scope-values-too-many", { detail: `${values.length} scope values` });
  const distinct = new Set<string>();
  for (const value of values) {
    if (!isScopeValue(value)) {
      throw new OAuthError("invalid_scope", "scope-malformed", {
        description: "The scope contains an empty value, or a character that RFC 6749, section 3.3, does not allow.",
      });
    }
    distinct.add(value);
  }
  return [...distinct];
}

/** The values of `asked` that are in `allowed`, in the order of `asked`. */
export function intersectScope(asked: readonly string[], allowed: readonly string[]): string[] {
  return asked.filter((value) => allowed.includes(value));
}

/** `scope` claim or parameter of a list of values. */
export function formatScope(values: readonly string[]): string {
  return values.join(" ");
}

/** The scopes of the admin API. */
export const adminScopes = [
  "admin:clients",
  "admin:issuers",
  "admin:users",
  "admin:export",
  "admin:keys",
  "admin:tokens",
  "admin:revoke-all",
  "admin:shards",
  "admin:audit",
] as const;

/**
 * **The scopes and the audience of the admin API**: scopes that begin with `admin:`, and `{issuer}/admin`. A wildcard in a policy
 * never covers them (ADR 18).
 */
export function isAdminScope(scope: string): boolean {
  return scope.startsWith("admin:");
}

export function adminAudience(issuer: string): string {
  return `${issuer}/admin`;
}

/** The audience of the API by which members administer their own organisation (ADR 72). */
export function organizationsAudience(issuer: string): string {
  return `${issuer}/organizations`;
}

/** **The audiences of administration**: a client must list them, and a wildcard in a policy never covers them (ADR 18). */
export function administrativeAudiences(issuer: string): readonly string[] {
  return [adminAudience(issuer), organizationsAudience(issuer)];
}
