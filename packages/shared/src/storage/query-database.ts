import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { within } from "../runtime/deadline.ts";

/**
 * **Runs a D1 query within a time limit.** Every error and a timeout become {@link UnavailableError}. A late write may still be executed, so the
 * caller responds with 503, which permits a retry.
 */
export async function queryDatabase<T>(
  work: () => Promise<T>,
  timeoutMs: number = limits.databaseCallMs,
  store = "D1",
): Promise<T> {
  try {
    return await within(timeoutMs, work(), () => {
      throw new Error(`no response within ${timeoutMs} ms`);
    });
  } catch (cause) {
    throw cause instanceof UnavailableError ? cause : new UnavailableError(store, cause);
  }
}

/** **Runs a query of the audit database within a time limit.** Its errors name that database, because only the audit depends on it. */
export function queryAuditDatabase<T>(work: () => Promise<T>, timeoutMs: number = limits.databaseCallMs): Promise<T> {
  return queryDatabase(work, timeoutMs, "AUDIT_DB");
}

/** A violated UNIQUE constraint: another writer was first. D1 identifies it only by its message. */
export function isOvertaken(error: unknown): boolean {
  const cause = error instanceof UnavailableError ? error.cause : error;
  return cause instanceof Error && cause.message.includes("UNIQUE constraint failed");
}
