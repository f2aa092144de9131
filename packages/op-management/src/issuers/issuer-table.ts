import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { IssuerDocument, TrustedIssuer } from "@edge-op/shared/issuers/trusted-issuer";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { json, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";

/** **Trusted issuers in D1.** */
export const issuers = new VersionedTable({
  name: "trusted_issuers",
  noun: "issuer",
  members: {
    issuerId: text("issuer_id"),
    issuer: text("issuer"),
    status: text("status", ["active", "disabled"]),
    document: json<IssuerDocument>("document"),
  },
  key: "issuerId",
  document: "document",
  missing: "issuer-not-found",
  forget: ({ issuer }) => [{ kind: "issuer", id: issuer }],
  findTaken: async (database, issuer, known) => (known === undefined ? findTaken(database, issuer) : undefined),
});

export type StoredIssuer = StoredIn<typeof issuers>;

/** Finds a record with the id, or with the issuer with or without a final slash: these are two names of one issuer. */
async function findTaken(
  database: D1Database,
  { issuerId, issuer }: Pick<TrustedIssuer, "issuerId" | "issuer">,
): Promise<OAuthError | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT issuer_id, issuer FROM trusted_issuers WHERE issuer_id = ?1 OR rtrim(issuer, '/') = rtrim(?2, '/')
          ORDER BY issuer_id <> ?1 LIMIT 1`,
      )
      .bind(issuerId, issuer)
      .first<{ readonly issuer_id: string; readonly issuer: string }>(),
  );
  if (row === null) return undefined;
  if (row.issuer_id === issuerId) return takenError("issuer_id");
  return takenError("issuer", `is recorded as ${row.issuer}, with the issuer_id ${row.issuer_id}`);
}
