/**
 * **What gives power over the provider itself**: scopes that begin with `admin:`, and the audience of the admin API. A
 * wildcard in a policy never covers them (ADR 19).
 */
export function isAdminScope(scope: string): boolean {
  return scope.startsWith("admin:");
}

export function adminAudience(issuer: string): string {
  return `${issuer}/admin`;
}
