import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { OAuthError, UnavailableError } from "@edge-op/protocol/oauth/errors";

/**
 * **Entity tags of admin resources**: the `ETag` is the time of the last change in milliseconds. Every change increases it, so two
 * changes of one version never both succeed. @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function formatEtag(updatedAtMs: number): string {
  return `"${updatedAtMs}"`;
}

/** The tag of a resource without a time of change: a hash of its content. */
export async function contentEtag(content: readonly string[]): Promise<string> {
  return `"${encodeBase64Url((await sha256(JSON.stringify(content))).subarray(0, 16))}"`;
}

/** Refuses with 412 if `If-Match` is given and does not name the version. */
export function requireMatch(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const named = ifMatch.split(",").map((each) => each.trim());
  if (!named.includes(etag)) throw entityTagDiffers();
}

export function entityTagDiffers(): OAuthError {
  return new OAuthError("precondition_failed", "entity-tag-differs");
}

/** The version after `updatedAtMs`: the current time, or one more than `updatedAtMs` if the clock is not ahead of it. */
export function nextVersion(updatedAtMs: number, atMs: number): number {
  return Math.max(atMs, updatedAtMs + 1);
}

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
