import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { usesSecret } from "@edge-op/protocol/oauth/client-auth-methods";
import { findDocumentFaults, requireDocument, requireSector } from "@edge-op/shared/clients/checked-metadata";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { type ClientDocument, metadataSchema } from "@edge-op/shared/clients/client-schema";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminCall, defineRoute } from "../admin/define-route.ts";
import { nextVersion, requireMatch } from "../admin/entity-tags.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { requireOtherParty } from "../admin/own-authority.ts";
import { mayBeConflict, retryOnConflict } from "../admin/retry-on-conflict.ts";
import { losesAdminScope, requireAuthorityOver } from "./client-authority.ts";
import { toResponse } from "./client-resource.ts";
import { clientPatchSchema, clientSchema } from "./client-resource-schema.ts";
import { findClient, requireClient, type StoredClient, updateClient } from "./client-store.ts";
import { requireOwnClientUsable } from "./own-client.ts";
import { deleteSecrets } from "./secret-store.ts";

/**
 * **`PATCH /admin/clients/{client_id}`**. Cost: 2 D1 and the control plane's round over the live shards, twice when
 * grants end: when disabling, and when an admin scope is taken away.
 */
export type ClientPatchCall = AdminCall<JsonObject, undefined>;

export const updateClientRoute = defineRoute({
  method: "PATCH",
  path: "/clients/{client_id}",
  operationId: "updateClient",
  summary:
    "Changes a client by JSON Merge Patch: what is not named stays, null removes. In force everywhere when the call returns; status disabled also ends every grant of the client, and so does taking an admin scope away.",
  scope: "admin:clients",
  body: clientPatchSchema,
  errorCode: clientErrorCode,
  response: { status: 200, description: "The client as it is now.", schema: clientSchema },
  async faultsBeside({ context, parameter }, { status: _, ...patch }, wrong) {
    const known = await findClient(context.env.DB, parameter("client_id"));
    if (known === undefined) return [];
    const { merged } = patchStored(metadataSchema, known.metadata, patch);
    return findDocumentFaults(merged, context.settings.issuer, wrong);
  },
  async handle(call) {
    return toResponse(await applyClientPatch(call));
  },
});

/** The client after the patch, committed on top of whatever else was changed meanwhile. */
export function applyClientPatch(call: ClientPatchCall): Promise<StoredClient> {
  return retryOnConflict(async () => {
    const known = await requireClient(call.context.env.DB, call.parameter("client_id"));
    requireMatch(call.ifMatch, known.updatedAtMs);
    requireOwnMembers(known, call.body);
    requireAuthorityOver(call.actor, known.metadata);
    if (call.body.status === "disabled") requireOtherParty(call.actor, known.clientId);
    const metadata = await patchMetadata(call, known.metadata);
    const change = { before: known.metadata, after: metadata };
    requireOwnClientUsable(call.actor, known.clientId, change, call.context.settings.issuer);
    return commitClient(call, known, {
      ...known,
      status: call.body.status === undefined ? known.status : call.body.status === "disabled" ? "disabled" : "active",
      metadata,
      updatedAtMs: nextVersion(known.updatedAtMs, nowMs()),
    });
  });
}

/** The metadata of a document are its owner's: only whether it is in use is decided here. */
function requireOwnMembers({ origin }: StoredClient, patch: JsonObject): void {
  const foreign = origin === "document" ? Object.keys(patch).filter((name) => name !== "status") : [];
  if (foreign.length === 0) return;
  throw invalidFields(foreign.map((path) => ({ path, message: "is decided by the metadata document of the client" })));
}

const sectorMembers = ["sector_identifier_uri", "redirect_uris"] as const;

/** Metadata that no patch names is not judged again: a rule that came later must not stand in the way of disabling a client. */
async function patchMetadata(call: ClientPatchCall, known: ClientDocument): Promise<ClientDocument> {
  const { status: _, ...patch } = call.body;
  if (Object.keys(patch).length === 0) return known;
  const { issuer } = call.context.settings;
  const { merged, keepOthers } = patchStored(metadataSchema, known, patch);
  const metadata = keepOthers(await requireDocument(merged, issuer));
  requireAuthorityOver(call.actor, metadata);
  if (sectorMembers.some((name) => name in patch)) await requireSector(metadata, issuer);
  return metadata;
}

/** `undefined` when another change came in between. */
async function commitClient(
  call: ClientPatchCall,
  known: StoredClient,
  client: StoredClient,
): Promise<StoredClient | undefined> {
  const database = call.context.env.DB;
  const { clientId } = known;
  // A secret that the registered method does not use must not come back to life with a later change of method.
  const isObsolete =
    call.body.token_endpoint_auth_method !== undefined && !usesSecret(client.metadata.token_endpoint_auth_method);
  const obsolete = isObsolete ? [deleteSecrets(database, clientId)] : [];
  const { issuer } = call.context.settings;
  const endsGrants = call.body.status === "disabled" || losesAdminScope(known.metadata, client.metadata, issuer);
  try {
    await commitChange(call, {
      statements: [updateClient(database, client, known.updatedAtMs), ...obsolete],
      forget: [{ kind: "client", id: clientId }],
      event: { action: "client.update", target: clientId, detail: { fields: Object.keys(call.body) } },
      cutOff: endsGrants ? { kind: "client", id: clientId } : undefined,
    });
    return client;
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const current = await findClient(database, clientId);
    if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
    throw cause;
  }
}
