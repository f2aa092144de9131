import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { usesSecret } from "@edge-op/protocol/oauth/client-auth-methods";
import { requireDocument, requireSector } from "@edge-op/shared/clients/checked-metadata";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { metadataSchema } from "@edge-op/shared/clients/client-schema";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { requireOtherParty } from "../admin/actor.ts";
import type { PatchCall } from "../admin/define-record-routes.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { losesAdminScope, requireAuthorityOver, requireOwnClientUsable } from "./client-authority.ts";
import type { StoredClient } from "./client-table.ts";
import { deleteSecrets } from "./secret-store.ts";

/** **Applies a patch to a client.** Its grants end when it is disabled, and when an admin scope is removed. */
export function patchClient(call: PatchCall) {
  const { actor, body } = call;
  const { env, settings } = call.context;
  return async (known: StoredClient) => {
    const { clientId } = known;
    requireOwnMembers(known, body);
    requireAuthorityOver(actor, known.metadata);
    if (body.status === "disabled") requireOtherParty(actor, clientId);
    const metadata = await patchMetadata(call, known.metadata);
    requireOwnClientUsable(actor, clientId, { before: known.metadata, after: metadata }, settings.issuer);
    const status = body.status === undefined ? known.status : body.status === "disabled" ? "disabled" : "active";
    // A secret that the registered method does not use must not become valid again with a later change of method.
    const isObsolete =
      body.token_endpoint_auth_method !== undefined && !usesSecret(metadata.token_endpoint_auth_method);
    const endsGrants = body.status === "disabled" || losesAdminScope(known.metadata, metadata, settings.issuer);
    return {
      changed: { status, metadata } as const,
      statements: isObsolete ? [deleteSecrets(env.DB, clientId)] : [],
      cutOff: endsGrants ? ({ kind: "client", id: clientId } as const) : undefined,
    };
  };
}

/** The owner of a metadata document decides its metadata: an administrator only decides whether the client is in use. */
function requireOwnMembers({ origin }: StoredClient, patch: JsonObject): void {
  const foreign = origin === "document" ? Object.keys(patch).filter((name) => name !== "status") : [];
  if (foreign.length === 0) return;
  throw invalidFields(foreign.map((path) => ({ path, message: "is decided by the metadata document of the client" })));
}

const sectorMembers = ["sector_identifier_uri", "redirect_uris"] as const;

/** Metadata that no patch names is not validated again, because a later rule must not prevent disabling a client. */
async function patchMetadata(call: PatchCall, known: ClientMetadata): Promise<ClientMetadata> {
  const { status: _, ...patch } = call.body;
  if (Object.keys(patch).length === 0) return known;
  const { settings } = call.context;
  const { merged, keepOthers } = patchStored(metadataSchema, known, patch);
  const metadata = keepOthers(await requireDocument(merged, settings));
  requireAuthorityOver(call.actor, metadata);
  if (sectorMembers.some((name) => name in patch)) await requireSector(call.context, metadata);
  return metadata;
}
