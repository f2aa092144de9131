import { limits } from "@edge-op/shared/config/limits";
import { log } from "@edge-op/shared/runtime/log";

/** The share from which a database is reported as nearly full: at the growth of a large deployment, weeks before it is full. */
const nearlyFull = 0.8;
/** The same for an object, whose rows cannot move: it shrinks only as they expire, a month after a new generation was opened. */
const objectNearlyFull = 0.5;

/**
 * **Reports the size of a D1 database** after a query, once a day: a full database fails every write, so operators are warned in advance
 * (docs/operating/sizing.md). Does nothing if the platform does not state the size.
 */
export function reportSize(database: "DB" | "AUDIT_DB", result: D1Result<unknown> | undefined): void {
  const bytes = result?.meta.size_after;
  if (bytes === undefined) return;
  const size = { database, bytes, limitBytes: limits.databaseBytes };
  if (bytes >= nearlyFull * limits.databaseBytes) log("database-nearly-full", size);
  else log("database-size", size);
}

/** **Reports an object that is nearly full**, by its alarm. The size is a property of the storage: no row is read. */
export function reportObjectSize(object: string, bytes: number): void {
  if (bytes < objectNearlyFull * limits.databaseBytes) return;
  log("object-nearly-full", { object, bytes, limitBytes: limits.databaseBytes });
}
