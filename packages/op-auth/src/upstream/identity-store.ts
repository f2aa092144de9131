import { isText, listOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type FactorRow, type Factors, factorColumns, toFactors } from "@edge-op/shared/users/factors";
import type { Identity } from "@edge-op/shared/users/identities";
import type { UpstreamPerson } from "./kinds.ts";

/** The key of an identity. */
export type IdentityKey = Pick<Identity, "upstreamId" | "issuer" | "subject">;

export interface KnownIdentity {
  readonly sub: string;
  readonly status: "active" | "suspended";
  /** The access that the person has allowed the given client. */
  readonly allowed: readonly string[];
  readonly factors: Factors;
}

/** The owner of an identity, with their consent to a client and their factors, which the same sign-in needs. Cost: 1 D1 call. */
export async function findIdentity(
  database: D1Database,
  { upstreamId, issuer, subject }: IdentityKey,
  clientId?: string,
): Promise<KnownIdentity | undefined> {
  const row = await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        `SELECT u.sub, u.status, c.allowed, ${factorColumns}
           FROM user_identities i JOIN users u ON u.sub = i.sub
           LEFT JOIN consents c ON c.sub = u.sub AND c.client_id = ?4
          WHERE i.upstream_id = ?1 AND i.issuer = ?2 AND i.subject = ?3`,
      )
      .bind(upstreamId, issuer, subject, clientId ?? null)
      .first<FactorRow & { sub: string; status: "active" | "suspended"; allowed: string | null }>(),
  );
  if (row === null) return undefined;
  const { sub, status, allowed } = row;
  const consented = allowed === null ? [] : readStored("consent", allowed, listOf(isText));
  return { sub, status, allowed: consented, factors: toFactors(row) };
}

export async function recordIdentityUse(
  database: D1Database,
  { upstreamId, issuer, subject }: IdentityKey,
  atMs: number,
): Promise<void> {
  await queryDatabase(() =>
    peopleOf(database)
      .prepare(
        "UPDATE user_identities SET last_used_at_ms = ?4 WHERE upstream_id = ?1 AND issuer = ?2 AND subject = ?3",
      )
      .bind(upstreamId, issuer, subject, atMs)
      .run(),
  );
}

export interface NewIdentity extends IdentityKey {
  readonly sub: string;
  readonly label: string;
  readonly atMs: number;
}

/** A person's identities. */
const mostIdentities = 20;

/** Changes nothing if the identity belongs to someone, if there is no such user, or if they have as many as are allowed. */
export function insertIdentity(
  database: D1Database,
  { upstreamId, issuer, subject, sub, label, atMs }: NewIdentity,
): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `INSERT INTO user_identities (upstream_id, issuer, subject, sub, label, created_at_ms)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM users WHERE sub = ?4)
            AND (SELECT count(*) FROM user_identities WHERE sub = ?4) < ${mostIdentities}
         ON CONFLICT (upstream_id, issuer, subject) DO NOTHING`,
    )
    .bind(upstreamId, issuer, subject, sub, label, atMs);
}

const longestLabel = 128;

/** A label that distinguishes a person's accounts at one provider. */
export function labelOf({ address, claims, subject }: UpstreamPerson): string {
  const name = claims["preferred_username"] ?? claims["name"];
  const label = address?.address ?? (typeof name === "string" && name.trim() !== "" ? name : subject);
  return label
    .toWellFormed()
    .replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "")
    .slice(0, longestLabel);
}
