/**
 * **Every table of D1 that holds data about a person**, column by column: what an export contains and what it withholds. A test compares it with the
 * schema, so that no table and no column is forgotten.
 */

import { peopleOf } from "../storage/people.ts";

interface PersonalTable {
  readonly table: string;
  readonly exported: readonly string[];
  /** Omitted from the export: secrets, and data that only this provider reads. */
  readonly withheld: readonly string[];
}

/** Deleted with the user. Each has the column `sub`. */
export const personalTables: readonly PersonalTable[] = [
  {
    table: "users",
    exported: [
      "sub",
      "username",
      "status",
      "claims",
      "attributes",
      "created_at_ms",
      "updated_at_ms",
      "deletes_at_ms",
      "terms_version",
      "terms_accepted_at_ms",
    ],
    withheld: ["username_key", "factor_epoch", "searched"],
  },
  { table: "user_search", exported: ["word"], withheld: ["sub"] },
  {
    table: "user_addresses",
    exported: ["address_key", "address", "verified_at_ms", "held_until_ms"],
    withheld: ["sub"],
  },
  { table: "user_roles", exported: ["role"], withheld: ["sub"] },
  { table: "user_groups", exported: ["group_name"], withheld: ["sub"] },
  {
    table: "memberships",
    exported: ["org_id", "status", "source", "joined_at_ms"],
    withheld: ["sub", "updated_at_ms"],
  },
  { table: "membership_roles", exported: ["org_id", "role"], withheld: ["sub"] },
  {
    table: "scim_users",
    exported: ["org_id", "external_id", "document", "active", "created_at_ms"],
    withheld: [
      ...["sub", "scim_id", "created_account", "user_name_key", "email_key", "display_key"],
      ...["suspended_at_ms", "version"],
    ],
  },
  { table: "user_passwords", exported: ["updated_at_ms", "temporary_until_ms"], withheld: ["sub", "hash"] },
  {
    table: "webauthn_credentials",
    exported: [
      ...["credential_id", "public_key", "sign_count", "transports", "backed_up", "name"],
      ...["created_at_ms", "last_used_at_ms"],
    ],
    withheld: ["sub", "imported"],
  },
  {
    table: "user_totp",
    exported: ["factor_id", "created_at_ms", "last_used_at_ms"],
    withheld: ["sub", "secret", "sealed_by", "last_step"],
  },
  { table: "user_recovery_codes", exported: ["created_at_ms"], withheld: ["sub", "set_id", "hashes", "used"] },
  {
    table: "account_recoveries",
    exported: ["address_key", "asked_at_ms", "stopped_at_ms", "until_ms"],
    withheld: ["sub", "recovery_id"],
  },
  {
    table: "user_identities",
    exported: ["upstream_id", "issuer", "subject", "label", "created_at_ms", "last_used_at_ms"],
    withheld: ["sub"],
  },
  {
    table: "consents",
    exported: ["client_id", "allowed", "given_at_ms", "updated_at_ms"],
    withheld: ["sub"],
  },
  {
    table: "user_grants",
    exported: ["client_id", "grant_id", "until_ms"],
    withheld: [
      ...["sub", "generation", "region", "shard"],
      ...["family_generation", "family_region", "family_shard", "tokens_end_at_ms"],
    ],
  },
  {
    table: "user_sessions",
    exported: ["sid", "device", "signed_in_at_ms", "ends_at_ms", "city", "country"],
    withheld: ["sub"],
  },
];

/** Columns of JSON text. */
const documents = new Set(["claims", "attributes", "transports", "allowed", "document"]);

/** The rows of a person, in the order of the tables. */
export function selectPersonalData(database: D1Database, sub: string): D1PreparedStatement[] {
  return personalTables.map(({ table, exported }) =>
    peopleOf(database)
      .prepare(`SELECT ${exported.join(", ")} FROM ${table} WHERE sub = ?1`)
      .bind(sub),
  );
}

/** A row as a person can read it: times in RFC 3339, documents as they are, no member for NULL. */
export function showRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([column, value]): [string, unknown][] => {
      if (value === null) return [];
      if (column.endsWith("_ms")) return [[column.slice(0, -"_ms".length), new Date(Number(value)).toISOString()]];
      return [[column, documents.has(column) ? (JSON.parse(String(value)) as unknown) : value]];
    }),
  );
}
