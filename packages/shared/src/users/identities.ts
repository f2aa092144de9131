import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";

/** **A person's connection with an upstream provider.** */
export interface Identity {
  /** Derived from its key: names it in URLs. */
  readonly id: string;
  readonly upstreamId: string;
  readonly issuer: string;
  readonly subject: string;
  /** The label of the identity in the person's list: an address or a name at the provider. */
  readonly label: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | undefined;
}

interface IdentityRow {
  readonly upstream_id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly label: string;
  readonly created_at_ms: number;
  readonly last_used_at_ms: number | null;
}

/** In the order of their creation. Cost: 1 D1 call. */
export async function listIdentities(database: D1Database, sub: string): Promise<Identity[]> {
  const { results } = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT upstream_id, issuer, subject, label, created_at_ms, last_used_at_ms FROM user_identities WHERE sub = ?1
          ORDER BY created_at_ms, upstream_id, issuer, subject`,
      )
      .bind(sub)
      .all<IdentityRow>(),
  );
  return Promise.all(results.map(toIdentity));
}

async function toIdentity(row: IdentityRow): Promise<Identity> {
  const key = JSON.stringify([row.upstream_id, row.issuer, row.subject]);
  return {
    id: encodeBase64Url((await sha256(key)).slice(0, 16)),
    upstreamId: row.upstream_id,
    issuer: row.issuer,
    subject: row.subject,
    label: row.label,
    createdAtMs: row.created_at_ms,
    lastUsedAtMs: row.last_used_at_ms ?? undefined,
  };
}

/** How many identities at active providers the user `?1` has: the others are no way in. */
export const activeIdentities = `(SELECT count(*) FROM user_identities i JOIN upstreams p ON p.upstream_id = i.upstream_id
  WHERE i.sub = ?1 AND p.status = 'active')`;

/** Whether the user `sub`, an expression of SQL, has a password of their own: one that an administrator gave them is no way in. */
export function hasOwnPassword(sub: string): string {
  return `EXISTS (SELECT 1 FROM user_passwords p WHERE p.sub = ${sub} AND p.temporary_until_ms IS NULL)`;
}

interface Removal {
  readonly event?: D1PreparedStatement;
  /** Not the only way in of a person without a password and a passkey. */
  readonly keepsWayIn?: boolean;
}

/** Statements that remove an identity, and forget remembered browsers. The first removes; `event` comes directly after it. */
export function removeIdentity(
  database: D1Database,
  sub: string,
  { upstreamId, issuer, subject }: Pick<Identity, "upstreamId" | "issuer" | "subject">,
  { event, keepsWayIn = false }: Removal = {},
): D1PreparedStatement[] {
  const isKept = keepsWayIn
    ? `AND (${hasOwnPassword("?1")} OR EXISTS (SELECT 1 FROM webauthn_credentials WHERE sub = ?1)
         OR ${activeIdentities} > EXISTS (SELECT 1 FROM upstreams WHERE upstream_id = ?2 AND status = 'active'))`
    : "";
  return [
    peopleOf(database)
      .prepare(
        `DELETE FROM user_identities WHERE sub = ?1 AND upstream_id = ?2 AND issuer = ?3 AND subject = ?4 ${isKept}`,
      )
      .bind(sub, upstreamId, issuer, subject),
    ...(event === undefined ? [] : [event]),
    peopleOf(database).prepare("UPDATE users SET factor_epoch = factor_epoch + 1 WHERE sub = ?1").bind(sub),
  ];
}
