/** **Requests and responses of `/admin/attributes`.** */

import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { has, isAmong, when } from "@edge-op/shared/http/plain-text";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import { attributeDocumentSchema, attributeName } from "@edge-op/shared/users/attribute-schema";
import { type AttributeDocument, attributesId, mostDeclaredCharacters } from "@edge-op/shared/users/attributes";
import * as z from "zod";
import { json, text } from "../admin/columns.ts";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { takenError } from "../admin/taken-ids.ts";
import { type StoredIn, VersionedTable } from "../admin/versioned-table.ts";
import { membersOfTypes, requireAttribute } from "./attribute-document.ts";

const attributeCreateSchema = attributeDocumentSchema
  .extend({ attribute: attributeName.describe("Its name: the member of `attributes` in the records of users.") })
  .meta({
    id: "AttributeCreate",
    allOf: Object.entries(membersOfTypes).map(([name, types]) => when(has(name), [isAmong("type", types)])),
  });

const attributeSchema = attributeDocumentSchema
  .extend({
    attribute: z.string(),
    created_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
  })
  .meta({
    id: "Attribute",
    examples: [
      {
        ...{ attribute: "cost_centre", type: "string", max_length: 16 },
        ...{ title: "Cost centre", titles: { de: "Kostenstelle" } },
        claim: { name: "cost_centre", scope: "employment", tokens: ["id_token", "userinfo"] },
        ...{ created_at: 1795000000, updated_at: 1795000000 },
      },
    ],
  });

/** All of them are one copy. Discovery shows their claims, with the hosts of documents. */
const forgetAttributes = [
  { kind: "attributes", id: attributesId },
  { kind: "document-hosts", id: everyId },
] as const;

/** **Declared attributes in D1.** */
const attributes = new VersionedTable({
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
function refuseConflicts(
  database: D1Database,
  { attribute, document }: Pick<StoredAttribute, "attribute" | "document">,
): D1PreparedStatement {
  const condition = `EXISTS (${sameClaim}) OR (${otherCharacters}) + length(?2) > ${mostDeclaredCharacters}`;
  return attributes.refuseIf(database, attribute, condition, JSON.stringify(document));
}

/** Deletes the values of an attribute from the records of all users, whose copies then end. Reads the users that have attributes. */
function deleteValues(database: D1Database, attribute: string, atMs: number): D1PreparedStatement {
  return peopleOf(database)
    .prepare(
      `UPDATE users SET attributes = json_remove(attributes, '$.' || ?1), updated_at_ms = max(updated_at_ms + 1, ?2)
        WHERE attributes <> '{}' AND json_type(attributes, '$.' || ?1) IS NOT NULL`,
    )
    .bind(attribute, atMs);
}

/**
 * **`/admin/attributes`**: the attributes that users may have besides the standard claims, and the claims to which they are mapped. A change is in
 * force everywhere when the call returns: at UserInfo at once, in tokens with the next one. Cost: a read 1 D1; a change 2 D1 and a round of the
 * control plane; a deletion also writes each user that has a value.
 */
export const attributeRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: attributes,
  key: "attribute",
  scope: "admin:users",
  summaries: {
    create: "Declares an attribute of users, and the claim to which it is mapped.",
    list: "Lists declared attributes in the order of their names, a page at a time.",
    read: "Shows a declared attribute.",
    update:
      "Changes a declared attribute by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Values that users have already are not checked again.",
    remove: "Deletes a declared attribute, and its values from the records of all users.",
  },
  writable: attributeDocumentSchema,
  createBody: attributeCreateSchema,
  shown: attributeSchema,
  show: ({ attribute, document, createdAtMs, updatedAtMs }) => ({
    attribute,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
    ...document,
  }),
  async create(call) {
    const { attribute, ...given } = call.body;
    const atMs = nowMs();
    const record = { attribute, document: requireAttribute(given), createdAtMs: atMs, updatedAtMs: atMs };
    await attributes.create(call, record, {
      statements: [refuseConflicts(call.context.env.DB, record)],
      forget: forgetAttributes,
    });
    return { record };
  },
  patch:
    ({ body, context }) =>
    async ({ attribute, document: known }) => {
      const { merged, keepOthers } = patchStored(attributeDocumentSchema, { ...known }, body);
      const document = keepOthers(requireAttribute(merged, known));
      return { changed: { document }, statements: [refuseConflicts(context.env.DB, { attribute, document })] };
    },
  async remove({ context }, { attribute }) {
    // A copy of a user may outlive the declaration, and a new one of the same name must not find its value.
    return {
      statements: [deleteValues(context.env.DB, attribute, nowMs())],
      forget: [{ kind: "user", id: everyId }],
    };
  },
});
