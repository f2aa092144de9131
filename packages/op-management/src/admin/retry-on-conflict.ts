import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";

/** How often a change without `If-Match` is attempted again after a concurrent one. */
const attempts = 5;

/**
 * **Optimistic concurrency**: `attempt` reads, changes and commits one version, and returns `undefined` when another change was committed
 * in between; it is then attempted again on the new version. Members that the caller did not name are never overwritten.
 */
export async function retryOnConflict<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < attempts; count += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new OAuthError("conflict", "changed-concurrently");
}

/** Whether a commit failed in D1, possibly because of a concurrent change. A failure after the commit is not a conflict. */
export function mayBeConflict(error: unknown): boolean {
  return error instanceof UnavailableError ? error.store === "D1" : error instanceof OAuthError;
}
