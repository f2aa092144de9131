import { OAuthError } from "@edge-op/protocol/oauth/errors";

/**
 * **Entity tags of admin resources**: the `ETag` is the time of the last change in milliseconds. Every change increases it, so two
 * changes of one version never both succeed. @see https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function formatEtag(updatedAtMs: number): string {
  return `"${updatedAtMs}"`;
}

/** Refuses with 412 if `If-Match` is given and does not name the version. */
export function requireMatch(ifMatch: string | undefined, updatedAtMs: number): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const named = ifMatch.split(",").map((etag) => etag.trim());
  if (!named.includes(formatEtag(updatedAtMs))) throw new OAuthError("precondition_failed", "entity-tag-differs");
}

/** The version after `updatedAtMs`: the current time, or one more than `updatedAtMs` if the clock is not ahead of it. */
export function nextVersion(updatedAtMs: number, atMs: number): number {
  return Math.max(atMs, updatedAtMs + 1);
}
