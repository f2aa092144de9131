import type { Connection } from "../connection/connection.ts";
import { Failure } from "../console/failure.ts";
import type { ApiDocument } from "../operations/api-document.ts";
import type { Difference } from "./find-differences.ts";
import { type Change, remainingDifferences } from "./make-plan.ts";

export interface Applied {
  /** Secrets of new clients, by `client_id`. They cannot be read again. */
  readonly secrets: Readonly<Record<string, string>>;
  /** What the provider stores in another form than declared, by `kind.name`. */
  readonly remaining: Readonly<Record<string, readonly Difference[]>>;
}

/**
 * **Makes the changes of a plan, one after the other.** Each changes only the version that the plan has read, so of two at once one is refused. It
 * stops at the first failure, whose detail has the secrets of clients that were created before it; applying again continues.
 */
export async function applyChanges(
  connection: Connection,
  document: ApiDocument,
  changes: readonly Change[],
  onProgress: (change: Change) => void,
): Promise<Applied> {
  const secrets: Record<string, string> = {};
  const remaining: Record<string, readonly Difference[]> = {};
  for (const [made, change] of changes.entries()) {
    const name = `${change.kind.name}.${change.name}`;
    try {
      const { body } = await connection.send(change.request);
      if (typeof body["client_secret"] === "string") secrets[change.name] = body["client_secret"];
      const left = change.action === "delete" ? [] : remainingDifferences(document, change, body);
      if (left.length > 0) remaining[name] = left;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const advice = error.outcome === "conflict" ? "It was changed after it was read. " : "";
      const message = `${name}: ${error.message}\n${advice}${made} of ${changes.length} changes are made. Apply again to continue.`;
      throw new Failure(error.outcome, message, { ...error.detail, made, secrets }, { cause: error });
    }
    onProgress(change);
  }
  return { secrets, remaining };
}
