import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import { attributeDocumentSchema } from "@edge-op/shared/users/attribute-schema";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { requireAttribute } from "./attribute-document.ts";
import { attributeCreateSchema, attributeSchema } from "./attribute-schema.ts";
import { attributes, deleteValues, forgetAttributes, refuseConflicts } from "./attribute-table.ts";

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
