import { OAuthError, UnavailableError } from "@edge-op/shared/oauth/errors";

/**
 * **Versions of a resource**: its `ETag` is the millisecond of its last change, which every change raises, so two changes
 * of one version never both succeed. @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function formatEtag(updatedAtMs: number): string {
  return `"${updatedAtMs}"`;
}

/** Refuses with 412 when `If-Match` is given and does not name the version. */
export function requireMatch(ifMatch: string | undefined, updatedAtMs: number): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const named = ifMatch.split(",").map((etag) => etag.trim());
  if (!named.includes(formatEtag(updatedAtMs))) throw new OAuthError("precondition_failed", `If-Match ${ifMatch}`);
}

/** The version after `updatedAtMs`: now, but always a later one. */
export function nextVersion(updatedAtMs: number, atMs: number): number {
  return Math.max(atMs, updatedAtMs + 1);
}

/** Whether a commit failed in D1: because of another change, perhaps. What fails after the commit is no lost race. */
export function mayHaveLost(error: unknown): boolean {
  return error instanceof UnavailableError ? error.store === "D1" : error instanceof OAuthError;
}

/** How often a change without `If-Match` is tried again on top of a concurrent one. */
const attempts = 5;

/**
 * Reads, changes and commits one version; when another change came in between, starts again from the new version.
 * `attempt` answers `undefined` when it lost. Nothing that the caller did not name is ever overwritten.
 */
export async function retryOnConflict<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < attempts; count += 1) {
    const outcome = await attempt();
    if (outcome !== undefined) return outcome;
  }
  throw new OAuthError("conflict", "changed meanwhile, several times");
}
