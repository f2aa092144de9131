import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import { queryDatabase } from "../storage/query-database.ts";

/** **Runs a query of the audit database within a time limit.** Its errors name that database, because only the audit depends on it. */
export function queryAuditDatabase<T>(work: () => Promise<T>, timeoutMs: number = limits.databaseCallMs): Promise<T> {
  return queryDatabase(work, timeoutMs, "AUDIT_DB");
}

/** A violated UNIQUE constraint: another writer was first. D1 identifies it only by its message. */
export function isOvertaken(error: unknown): boolean {
  const cause = error instanceof UnavailableError ? error.cause : error;
  return cause instanceof Error && cause.message.includes("UNIQUE constraint failed");
}
