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
