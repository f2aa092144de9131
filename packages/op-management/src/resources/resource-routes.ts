import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { invalidFields, requireValid } from "@edge-op/shared/http/require-valid";
import type { ResourceMetadata } from "@edge-op/shared/resources/resource";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { formatEtag, nextVersion, requireMatch } from "../admin/entity-tags.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { cutPage, readCursor } from "../admin/paging.ts";
import { mayBeConflict, retryOnConflict } from "../admin/retry-on-conflict.ts";
import { takenError } from "../admin/taken-ids.ts";
import {
  identifierFaults,
  resourceCreateSchema,
  resourceListQuery,
  resourceListSchema,
  resourceMetadataSchema,
  resourcePatchSchema,
  resourceSchema,
} from "./resource-schema.ts";
import {
  deleteResource,
  findTaken,
  insertResource,
  listResources,
  requireResource,
  type StoredResource,
  updateResource,
} from "./resource-store.ts";

/**
 * **`/admin/resources`**: who may request tokens for which API, with which scopes, and what these tokens are like (ADR 45). In force everywhere when a
 * call returns; tokens that exist stay as they are. Cost: a read 1 D1; a change 2 D1 and a round of the control plane.
 */
const path = "/resources/{resource_id}";
const scope = "admin:clients";

function toBody(resource: StoredResource): z.input<typeof resourceSchema> {
  const { metadata } = resource;
  return {
    resource_id: resource.resourceId,
    identifier: resource.identifier,
    created_at: toSeconds(resource.createdAtMs),
    updated_at: toSeconds(resource.updatedAtMs),
    ...metadata,
    scopes: [...metadata.scopes],
    clients: typeof metadata.clients === "string" ? metadata.clients : [...metadata.clients],
  };
}

function toResponse(resource: StoredResource) {
  return { body: toBody(resource), headers: { ETag: formatEtag(resource.updatedAtMs) } };
}

const create = defineRoute({
  method: "POST",
  path: "/resources",
  operationId: "createResource",
  summary: "Describes an API that tokens are for. In force everywhere when the call returns.",
  scope,
  body: resourceCreateSchema,
  response: { status: 201, description: "The resource.", schema: resourceSchema },
  async handle(call) {
    const { env, settings } = call.context;
    const { identifier, resource_id: resourceId = `r${randomBase64Url(12)}`, ...metadata } = call.body;
    const faults = identifierFaults(identifier, settings.issuer);
    if (faults.length > 0) throw invalidFields(faults);
    const atMs = nowMs();
    const resource = { resourceId, identifier, metadata: asStored(metadata), createdAtMs: atMs, updatedAtMs: atMs };
    try {
      await commitChange(call, {
        statements: [insertResource(env.DB, resource)],
        forget: [{ kind: "resource", id: identifier }],
        event: { action: "resource.create", target: identifier, detail: { resource_id: resourceId } },
      });
    } catch (cause) {
      const taken = mayBeConflict(cause) ? await findTaken(env.DB, resource) : undefined;
      throw taken === undefined ? cause : takenError(taken);
    }
    const { body, headers } = toResponse(resource);
    return { body, headers: { ...headers, Location: `${settings.issuer}/admin/resources/${resourceId}` } };
  },
});

const list = defineRoute({
  method: "GET",
  path: "/resources",
  operationId: "listResources",
  summary: "Lists resources in the order of their identifiers, a page at a time.",
  scope,
  query: resourceListQuery,
  response: { status: 200, description: "A page of resources.", schema: resourceListSchema },
  async handle({ context, query: { cursor, limit, identifier } }) {
    const rows = await listResources(context.env.DB, readCursor(cursor), limit + 1, identifier);
    const { page, next } = cutPage(rows, limit, (row) => row.identifier);
    return { body: { resources: page.map(toBody), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readResource",
  summary: "Shows a resource.",
  scope,
  response: { status: 200, description: "The resource.", schema: resourceSchema },
  async handle({ context, parameter }) {
    return toResponse(await requireResource(context.env.DB, parameter("resource_id")));
  },
});

const update = defineRoute({
  method: "PATCH",
  path,
  operationId: "updateResource",
  summary:
    "Changes a resource by JSON Merge Patch: what is not named stays, null removes. In force everywhere when the call returns; tokens that exist stay as they are.",
  scope,
  body: resourcePatchSchema,
  response: { status: 200, description: "The resource as it is now.", schema: resourceSchema },
  async handle(call) {
    return toResponse(await retryOnConflict(() => patchOnce(call)));
  },
});

const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteResource",
  summary: "Deletes a resource: no further token is issued by its rule. Tokens that exist end when they expire.",
  scope,
  response: { status: 204, description: "The resource is gone." },
  async handle(call) {
    const { identifier, resourceId } = await requireResource(call.context.env.DB, call.parameter("resource_id"));
    await commitChange(call, {
      statements: [deleteResource(call.context.env.DB, identifier)],
      forget: [{ kind: "resource", id: identifier }],
      event: { action: "resource.delete", target: identifier, detail: { resource_id: resourceId } },
    });
    return { body: undefined };
  },
});

/** `undefined` when another change came in between. */
async function patchOnce(call: AdminCall<JsonObject, undefined>): Promise<StoredResource | undefined> {
  const database = call.context.env.DB;
  const known = await requireResource(database, call.parameter("resource_id"));
  requireMatch(call.ifMatch, known.updatedAtMs);
  const { merged, keepOthers } = patchStored(resourceMetadataSchema, { ...known.metadata }, call.body);
  const changed = {
    ...known,
    metadata: keepOthers(asStored(requireValid(resourceMetadataSchema, merged))),
    updatedAtMs: nextVersion(known.updatedAtMs, nowMs()),
  };
  try {
    await commitChange(call, {
      statements: [updateResource(database, changed, known.updatedAtMs)],
      forget: [{ kind: "resource", id: known.identifier }],
      event: {
        action: "resource.update",
        target: known.identifier,
        detail: { resource_id: known.resourceId, fields: Object.keys(call.body) },
      },
    });
    return changed;
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const current = await requireResource(database, known.resourceId);
    if (current.updatedAtMs !== known.updatedAtMs) return undefined;
    throw cause;
  }
}

/** Absent members are left out, not stored as `undefined`. */
function asStored(metadata: z.output<typeof resourceMetadataSchema>): ResourceMetadata {
  return JSON.parse(JSON.stringify(metadata)) as ResourceMetadata;
}

export const resourceRoutes: readonly AdminRoute[] = [create, list, read, update, remove];
