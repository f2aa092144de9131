import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import { type AttributeDocument, attributesId, mostDeclaredCharacters } from "@edge-op/shared/users/attributes";
import { json, text } from "../admin/columns.ts";
import { takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";

/** All of them are one copy. Discovery shows their claims, with the hosts of documents. */
export const forgetAttributes = [
  { kind: "attributes", id: attributesId },
  { kind: "document-hosts", id: everyId },
] as const;

/** **Declared attributes in D1.** */
export const attributes = new VersionedTable({
  name: "attributes",
  noun: "attribute",
  members: { attribute: text("name"), document: json<AttributeDocument>("document") },
  key: "attribute",
  document: "document",
  missing: "attribute-not-found",
  forget: () => forgetAttributes,
  async findTaken(database, { attribute, document }, known) {
    const row = await queryDatabase(() =>
      database
        .prepare(
          `SELECT EXISTS (SELECT 1 FROM attributes WHERE name = ?1) AS is_taken,
              EXISTS (${sameClaim}) AS is_mapped, (${otherCharacters}) + length(?2) > ${mostDeclaredCharacters} AS are_many`,
        )
        .bind(attribute, JSON.stringify(document))
        .first<{ is_taken: number; is_mapped: number; are_many: number }>(),
    );
    if (known === undefined && row?.is_taken === 1) return takenError("attribute");
    if (row?.is_mapped === 1) return takenError("claim.name", "is the claim of another attribute");
    if (row?.are_many !== 1) return undefined;
    const description = `The declarations of all attributes have at most ${mostDeclaredCharacters} characters.`;
    return new OAuthError("conflict", "attributes-too-many", { description });
  },
});

type StoredAttribute = StoredIn<typeof attributes>;

/** ?1 is the name of an attribute, ?2 its document. */
const sameClaim = `SELECT 1 FROM attributes WHERE name <> ?1 AND document ->> '$.claim.name' = ?2 ->> '$.claim.name'`;
const otherCharacters = "SELECT coalesce(sum(length(document)), 0) FROM attributes WHERE name <> ?1";

/** Fails, together with its transaction, if another attribute has the claim, or if there is too much to declare. */
export function refuseConflicts(
  database: D1Database,
  { attribute, document }: Pick<StoredAttribute, "attribute" | "document">,
): D1PreparedStatement {
  const condition = `EXISTS (${sameClaim}) OR (${otherCharacters}) + length(?2) > ${mostDeclaredCharacters}`;
  return attributes.refuseIf(database, attribute, condition, JSON.stringify(document));
}

/** Deletes the values of an attribute from the records of all users, whose copies then end. Reads the users that have attributes. */
export function deleteValues(database: D1Database, attribute: string, atMs: number): D1PreparedStatement {
  return database
    .prepare(
      `UPDATE users SET attributes = json_remove(attributes, '$.' || ?1), updated_at_ms = max(updated_at_ms + 1, ?2)
        WHERE attributes <> '{}' AND json_type(attributes, '$.' || ?1) IS NOT NULL`,
    )
    .bind(attribute, atMs);
}
