import { limits } from "@edge-op/shared/config/limits";
import { type HeldKind, heldTables } from "@edge-op/shared/held-records/held-records";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";

/** A record that a lost change named, and the change's action. */
export interface LostChange {
  readonly kind: HeldKind | "invitation";
  readonly id: string;
  readonly action: string;
}

const actor = "control-plane";

/**
 * **Refuses the records whose later changes a restored D1 has lost** (ADR 11), each with an audit event, and discards their copies. Invitations that
 * were used or withdrawn are deleted. Each record is named
 * once. Those that are refused already stay as they are: repeating it changes nothing. Cost: 1 D1 call.
 */
export async function holdRecords(database: D1Database, lost: readonly LostChange[], atMs: number): Promise<void> {
  const statements = [...Map.groupBy(lost, ({ kind }) => kind)].flatMap(([kind, changes]) => {
    const named = JSON.stringify(changes.map(({ id, action }) => ({ id, action })));
    return kind === "invitation" ? [endInvitations(database, named)] : hold(database, kind, named, atMs);
  });
  if (statements.length > 0) await queryDatabase(() => database.batch(statements), limits.databaseCommitMs);
}

function endInvitations(database: D1Database, named: string): D1PreparedStatement {
  return database.prepare("DELETE FROM invitations WHERE id IN (SELECT value ->> 'id' FROM json_each(?1))").bind(named);
}

function hold(database: D1Database, kind: HeldKind, named: string, atMs: number): D1PreparedStatement[] {
  const { copies, selectKept, refuse } = heldTables[kind];
  return [
    database
      .prepare(
        `INSERT INTO held_records (kind, id, kept, lost, held_at_ms)
           SELECT ?3, found.id, found.kept, named.value ->> 'action', ?2
             FROM json_each(?1) AS named JOIN (${selectKept}) AS found ON found.id = named.value ->> 'id' WHERE true
           ON CONFLICT (kind, id) DO UPDATE
             SET kept = excluded.kept, lost = excluded.lost, held_at_ms = excluded.held_at_ms`,
      )
      .bind(named, atMs, kind),
    database.prepare(`${refuse} AND ?1 <> ''`).bind(named, atMs),
    database
      .prepare(
        `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail)
           SELECT ?2, kind || '.held', id, '', ?3, json_object('lost', lost)
             FROM held_records WHERE kind = ?1 AND held_at_ms = ?2
              AND id IN (SELECT value ->> 'id' FROM json_each(?4)) ORDER BY id`,
      )
      .bind(kind, atMs, actor, named),
    ...copies.map((copy) =>
      database.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, ?3)").bind(copy, everyId, atMs),
    ),
  ];
}
