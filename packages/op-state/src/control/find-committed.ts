import { queryDatabase } from "@edge-op/shared/cache/query-database";
import type { CutOffIntent } from "@edge-op/shared/objects/control-plane";

/**
 * **Whether the change of an intent was committed to D1**, and its number: its own row of the change log exists, or the user is
 * suspended, the client is disabled, or either was deleted (without a number). Cost: 1 D1 call.
 */
export async function findCommitted(
  database: D1Database,
  { kind, id, changedAtMs }: CutOffIntent,
): Promise<{ readonly version: number | undefined } | undefined> {
  const active =
    kind === "sub"
      ? "SELECT 1 FROM users WHERE sub = ?1 AND status = 'active'"
      : "SELECT 1 FROM clients WHERE client_id = ?1 AND status = 'active'";
  const select = database
    .prepare(
      `SELECT NOT EXISTS (${active}) AS ended,
              (SELECT max(version) FROM control_changes WHERE kind = ?2 AND id = ?1 AND at_ms = ?3) AS version`,
    )
    .bind(id, kind === "sub" ? "user" : "client", changedAtMs ?? null);
  const row = await queryDatabase(() => select.first<{ ended: number; version: number | null }>());
  const version = row?.version ?? undefined;
  // A trusted issuer is no client: only its change counts.
  const isEnded = row?.ended === 1 && !id.startsWith("issuer:");
  return version !== undefined || isEnded ? { version } : undefined;
}
