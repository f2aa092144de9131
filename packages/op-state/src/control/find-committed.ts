import { queryDatabase } from "@edge-op/shared/cache/query-database";
import type { CutOffIntent } from "@edge-op/shared/objects/control-plane";

/** **The number of the change of an intent**, if it was committed to D1: that of its own row of the change log. Cost: 1 D1 call. */
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
