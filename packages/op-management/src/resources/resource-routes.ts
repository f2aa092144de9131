import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import { resourceMetadataSchema } from "@edge-op/shared/resources/resource-schema";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { defineRecordRoutes } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { identifierFaults, resourceCreateSchema, resourceSchema } from "./resource-schema.ts";
import { resources } from "./resource-table.ts";

/**
 * **`/admin/resources`**: which clients may request tokens for an API, with which scopes, and the properties of these tokens (ADR 45). A change is in
 * force everywhere when the call returns; existing tokens do not change. Cost: a read 1 D1; a change 2 D1 and a round of the control plane.
 */
export const resourceRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: resources,
  key: "resource_id",
  scope: "admin:clients",
  summaries: {
    create: "Registers an API for which tokens are issued. In force everywhere when the call returns.",
    list: "Lists resources in the order of their identifiers, a page at a time.",
    read: "Shows a resource.",
    update:
      "Changes a resource by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Existing tokens do not change.",
    remove:
      "Deletes a resource: no more tokens are issued by its rule. Existing tokens remain valid until they expire.",
  },
  writable: resourceMetadataSchema,
  createBody: resourceCreateSchema,
  shown: resourceSchema,
  conditions: {
    identifier: {
      schema: resourceSchema.shape.identifier.max(255).optional().describe("A resource's identifier."),
      column: "identifier",
      match: "exact",
    },
  },
  show: ({ resourceId, identifier, metadata, createdAtMs, updatedAtMs }) => ({
    resource_id: resourceId,
    identifier,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
    ...metadata,
  }),
  async create(call) {
    const { identifier, resource_id: resourceId = `r${randomBase64Url(12)}`, ...metadata } = call.body;
    const faults = identifierFaults(identifier, call.context.settings.issuer);
    if (faults.length > 0) throw invalidFields(faults);
    const atMs = nowMs();
    const record = { resourceId, identifier, metadata, createdAtMs: atMs, updatedAtMs: atMs };
    await resources.create(call, record, { forget: [{ kind: "resource", id: identifier }] });
    return { record };
  },
  patch:
    ({ body }) =>
    async ({ metadata }) => {
      const { merged, keepOthers } = patchStored(resourceMetadataSchema, { ...metadata }, body);
      return { changed: { metadata: keepOthers(requireValid(resourceMetadataSchema, merged)) } };
    },
});
