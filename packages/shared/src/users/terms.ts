import { queryDatabase } from "../storage/query-database.ts";

/** The version of the terms of service that a person has agreed to, and when. Earlier ones are in the audit log. */
export interface Agreement {
  readonly version: string;
  readonly atMs: number;
}

interface AgreementRow {
  readonly terms_version: string | null;
  readonly terms_accepted_at_ms: number | null;
}

/** Cost: 1 D1 call. */
export async function findAgreement(database: D1Database, sub: string): Promise<Agreement | undefined> {
  const select = database.prepare("SELECT terms_version, terms_accepted_at_ms FROM users WHERE sub = ?1").bind(sub);
  const row = await queryDatabase(() => select.first<AgreementRow>());
  const { terms_version: version = null, terms_accepted_at_ms: atMs = null } = row ?? {};
  return version === null || atMs === null ? undefined : { version, atMs };
}

/** Changes nothing if the person has agreed to this version. The record that isolates have copies of does not contain it. */
export function saveAgreement(database: D1Database, sub: string, { version, atMs }: Agreement): D1PreparedStatement {
  return database
    .prepare(
      "UPDATE users SET terms_version = ?2, terms_accepted_at_ms = ?3 WHERE sub = ?1 AND terms_version IS NOT ?2",
    )
    .bind(sub, version, atMs);
}
