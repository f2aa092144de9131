import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { mostUpstreams, type UpstreamDocument, upstreamsId } from "@edge-op/shared/upstreams/upstream";
import { json, optional, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";

/** All of them are one copy. */
export const forgetUpstreams = [{ kind: "upstreams", id: upstreamsId }] as const;

/** **Upstream providers in D1.** */
export const upstreams = new VersionedTable({
  name: "upstreams",
  noun: "upstream",
  members: {
    upstreamId: text("upstream_id"),
    status: text("status", ["active", "disabled"]),
    document: json<UpstreamDocument>("document"),
    secret: optional(text("secret")),
    sealedBy: optional(text("sealed_by")),
  },
  key: "upstreamId",
  document: "document",
  missing: "upstream-not-found",
  forget: () => forgetUpstreams,
  async findTaken(database, { upstreamId, document }, known) {
    const { is_taken: isTaken, are_many: areMany, domain } = await readConflicts(database, upstreamId, document);
    if (known === undefined && isTaken === 1) return takenError("upstream_id");
    if (domain !== null) return takenError("domains", `contains ${domain}, which belongs to another upstream provider`);
    if (known !== undefined || areMany === 0) return undefined;
    return new OAuthError("conflict", "upstreams-too-many", {
      description: `There are ${mostUpstreams} upstream providers already.`,
    });
  },
});

export type StoredUpstream = StoredIn<typeof upstreams>;

/** A domain that another record has. ?1 is the record's id, ?2 its document. */
const takenDomain = `SELECT mine.value FROM json_each(?2, '$.domains') AS mine WHERE EXISTS (
  SELECT 1 FROM upstreams AS others, json_each(others.document, '$.domains') AS theirs
   WHERE others.upstream_id <> ?1 AND theirs.value = mine.value) LIMIT 1`;

async function readConflicts(database: D1Database, upstreamId: string, document: UpstreamDocument) {
  const row = await queryDatabase(() =>
    database
      .prepare(
        `SELECT EXISTS (SELECT 1 FROM upstreams WHERE upstream_id = ?1) AS is_taken,
            (SELECT count(*) FROM upstreams) >= ${mostUpstreams} AS are_many, (${takenDomain}) AS domain`,
      )
      .bind(upstreamId, JSON.stringify(document))
      .first<{ is_taken: number; are_many: number; domain: string | null }>(),
  );
  return row ?? { is_taken: 0, are_many: 0, domain: null };
}

/** Fails, together with its transaction, if another record has one of the domains, or if there are too many records. */
export function refuseConflicts(
  database: D1Database,
  { upstreamId, document }: Pick<StoredUpstream, "upstreamId" | "document">,
): D1PreparedStatement {
  const condition = `EXISTS (${takenDomain}) OR (SELECT count(*) FROM upstreams) > ${mostUpstreams}`;
  return upstreams.refuseIf(database, upstreamId, condition, JSON.stringify(document));
}
