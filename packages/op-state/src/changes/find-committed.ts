import type { CutOffIntent } from "@edge-op/shared/control/control-plane-rpc";
import { queryDatabase } from "@edge-op/shared/storage/query-database";

/** **Returns the number of an intent's change**, if it was committed to D1: the number of its own row of the change log. Cost: 1 D1 call. */
export async function findCommitted(
  database: D1Database,
  { kind, id, changedAtMs }: CutOffIntent,
): Promise<number | undefined> {
  const select = database
    .prepare("SELECT max(version) AS version FROM control_changes WHERE kind = ?1 AND id = ?2 AND at_ms = ?3")
    .bind(kind === "sub" ? "user" : "client", id, changedAtMs);
  const row = await queryDatabase(() => select.first<{ version: number | null }>());
  return row?.version ?? undefined;
}
