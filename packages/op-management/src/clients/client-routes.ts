import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { usesSecret } from "@edge-op/protocol/oauth/registered-names";
import { findDocumentFaults, requireDocument, requireSector } from "@edge-op/shared/clients/checked-metadata";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { clientIdPattern, metadataMembers, metadataSchema } from "@edge-op/shared/clients/client-schema";
import { choiceMembers } from "@edge-op/shared/clients/metadata-choices";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import * as z from "zod";
import { requireOtherParty } from "../admin/actor.ts";
import { defineRecordRoutes, type PatchCall } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { lowerAscii, textParameter } from "../admin/list-page.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { losesAdminScope, requireAuthorityOver, requireOwnClientUsable } from "./client-authority.ts";
import { clients, type StoredClient, withoutEmptyScope } from "./client-table.ts";
import { createClient } from "./create-client.ts";
import { secretRoutes } from "./secret-routes.ts";
import { deleteSecrets } from "./secret-store.ts";

/** **Applies a patch to a client.** Its grants end when it is disabled, and when an admin scope is removed. */
export function patchClient(call: PatchCall) {
  const { actor, body } = call;
  const { env, settings } = call.context;
  return async (known: StoredClient) => {
    const { clientId } = known;
    requireOwnMembers(known, body);
    requireAuthorityOver(actor, known.metadata, settings.issuer);
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
  requireAuthorityOver(call.actor, metadata, call.context.settings.issuer);
  if (sectorMembers.some((name) => name in patch)) await requireSector(call.context, metadata);
  return metadata;
}

const status = z.enum(["active", "disabled"]);

/** The members that an operator may write: metadata and whether the client is in use. */
const writable = z.strictObject({ ...metadataMembers, ...choiceMembers, status }).partial();

const createBody = writable
  .extend({
    client_id: z
      .string()
      .regex(clientIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given."),
    client_secret: z
      .string()
      .regex(/^[\x21-\x7e]{16,256}$/, "must be 16 to 256 characters of printable ASCII without spaces")
      .optional()
      .meta({ format: "password", writeOnly: true })
      .describe("The secret of a client that moves here from another provider; by default a new one."),
  })
  .meta({ id: "ClientCreate" });

const example = {
  client_id: "photos",
  client_id_issued_at: 1795000000,
  updated_at: 1795000000,
  status: "active",
  client_name: "Photos",
  token_endpoint_auth_method: "client_secret_basic",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  redirect_uris: ["https://photos.example.com/callback"],
  scope: "openid profile email",
  audiences: [],
};

const shown = metadataSchema
  .exactPartial({ scope: true })
  .extend({
    client_id: z.string(),
    client_id_issued_at: z.int().describe("Seconds since the epoch."),
    updated_at: z.int().describe("Seconds since the epoch."),
    status,
    origin: z
      .enum(["document", "registration"])
      .optional()
      .describe(
        "Present if no administrator registered the client: it is known by its metadata document, or registered itself.",
      ),
  })
  .meta({ id: "Client", examples: [example] });

const created = shown
  .extend({
    client_secret: z.string().optional().describe("Shown only once; absent for clients without a secret."),
    client_secret_expires_at: z.int().optional().describe("0: it does not expire (RFC 7591 §3.2.1)."),
  })
  .meta({
    id: "CreatedClient",
    examples: [
      { ...example, client_secret: "vLhc4RgJ8w3oQKXz2b0mYfE6TtNsUaD1pIqWx9VjHkM", client_secret_expires_at: 0 },
    ],
  });

/**
 * **`/admin/clients`**: the client information of RFC 7591; a secret is shown only when it is new. Cost: a read 1 D1; a creation that of
 * `createClient`; a change 2 D1 and a round of the control plane over the live shards, two when grants end; a deletion 3 D1 and three rounds.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1
 * @see https://www.rfc-editor.org/rfc/rfc7592#section-2
 */
export const clientRoutes: readonly AdminRoute[] = [
  ...defineRecordRoutes({
    table: clients,
    key: "client_id",
    scope: "admin:clients",
    summaries: {
      create: "Registers a client. Its secret, if it has one, is shown only once.",
      list: "Lists clients in the order of their ids, a page at a time; those whose names have a common beginning in the order of their names.",
      read: "Shows a client.",
      update:
        "Changes a client by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Status disabled also ends every grant of the client, and so does removing an admin scope.",
      remove: "Deletes a client and ends all of its grants.",
    },
    writable,
    createBody,
    shown,
    created,
    conditions: {
      status: { schema: status.optional().describe("Clients with this status."), column: "status", match: "exact" },
      client_id: { schema: textParameter("A client's id."), column: "client_id", match: "text" },
      client_name: {
        schema: textParameter("A client's name; a to z are A to Z."),
        column: "name_key",
        match: "text",
        toStored: lowerAscii,
      },
    },
    errorCode: clientErrorCode,
    faultsBeside: {
      create: ({ context }, { client_id: _, status: __, client_secret: ___, ...given }, wrong) =>
        findDocumentFaults(given, context.settings, wrong),
      async update({ context, parameter }, { status: _, ...patch }, wrong) {
        const known = await clients.find(context.env.DB, parameter("client_id"));
        if (known === undefined) return [];
        const { merged } = patchStored(metadataSchema, known.metadata, patch);
        return findDocumentFaults(merged, context.settings, wrong);
      },
    },
    show: ({ clientId, createdAtMs, updatedAtMs, metadata, origin, ...client }) => ({
      client_id: clientId,
      client_id_issued_at: toSeconds(createdAtMs),
      updated_at: toSeconds(updatedAtMs),
      status: client.status,
      ...(origin === undefined ? {} : { origin }),
      ...withoutEmptyScope(metadata),
    }),
    async create(call) {
      const { client_id: clientId, status = "active", client_secret: kept, ...document } = call.body;
      const { client, secret } = await createClient(call, { clientId, status, document, secret: kept });
      const shownOnce = secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 };
      return { record: client, shown: shownOnce };
    },
    patch: patchClient,
    ended: { status: "disabled" },
    remove: async ({ context }, { clientId }) => ({ statements: [deleteSecrets(context.env.DB, clientId)] }),
  }),
  ...secretRoutes,
];
