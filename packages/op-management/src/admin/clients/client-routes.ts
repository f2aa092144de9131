import { nowMs } from "@edge-op/shared/oauth/clock";
import { type AdminCall, type AdminRoute, defineRoute } from "../admin-route.ts";
import { commitChange } from "../commit-change.ts";
import { cutOff } from "../cut-off.ts";
import { applyMergePatch } from "../merge-patch.ts";
import { cutPage, readCursor } from "../paging.ts";
import { mayHaveLost, nextVersion, requireMatch, retryOnConflict } from "../versions.ts";
import { requireAuthorityOver, requireOther } from "./client-authority.ts";
import { requireDocument, requireSector } from "./client-document.ts";
import { toReply, toResource, usesSecret } from "./client-resource.ts";
import { clientErrorCode } from "./client-rules.ts";
import { clientListQuery, clientListSchema, clientPatchSchema, clientSchema } from "./client-schema.ts";
import {
  deleteClient,
  findClient,
  listClients,
  requireClient,
  type StoredClient,
  updateClient,
} from "./client-store.ts";
import { createClient } from "./create-client.ts";
import { secretRoutes } from "./secret-routes.ts";
import { deleteSecrets } from "./secret-store.ts";

/**
 * **`/admin/clients`**. Cost: a read 1 D1; a change 2 D1 and the control plane's round over the live shards; an end (of
 * the client or of its use) cuts off its grants too.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7592#section-2
 */
const path = "/clients/{client_id}";
const scope = "admin:clients";

const list = defineRoute({
  method: "GET",
  path: "/clients",
  operationId: "listClients",
  summary: "Lists clients in the order of their ids, a page at a time.",
  scope,
  query: clientListQuery,
  reply: { status: 200, description: "A page of clients.", schema: clientListSchema },
  async handle({ context, query: { cursor, limit, status } }) {
    const rows = await listClients(context.env.DB, readCursor(cursor), limit + 1, status);
    const { page, next } = cutPage(rows, limit, ({ clientId }) => clientId);
    return { body: { clients: page.map(toResource), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readClient",
  summary: "Shows a client.",
  scope,
  reply: { status: 200, description: "The client.", schema: clientSchema },
  async handle({ context, parameter }) {
    return toReply(await requireClient(context.env.DB, parameter("client_id")));
  },
});

const update = defineRoute({
  method: "PATCH",
  path,
  operationId: "updateClient",
  summary:
    "Changes a client by JSON Merge Patch: what is not named stays, null removes. In force everywhere when answered; status disabled also ends every grant of the client.",
  scope,
  body: clientPatchSchema,
  errorCode: clientErrorCode,
  reply: { status: 200, description: "The client as it is now.", schema: clientSchema },
  async handle(call) {
    const client = await retryOnConflict(() => tryUpdate(call));
    if (call.body.status === "disabled") await cutOff(call, "client", client.clientId);
    return toReply(client);
  },
});

const sectorMembers = ["sector_identifier_uri", "redirect_uris"] as const;

type PatchCall = AdminCall<Readonly<Record<string, unknown>>, undefined>;

/** `undefined` when another change came in between. */
async function tryUpdate(call: PatchCall): Promise<StoredClient | undefined> {
  const database = call.context.env.DB;
  const known = await requireClient(database, call.parameter("client_id"));
  requireMatch(call.ifMatch, known.updatedAtMs);
  requireAuthorityOver(call.admin, known.metadata);
  if (call.body.status === "disabled") requireOther(call.admin, known.clientId);
  const { status = known.status, ...patch } = call.body;
  const { issuer } = call.context.settings;
  const metadata = await requireDocument(applyMergePatch(known.metadata, patch), issuer);
  requireAuthorityOver(call.admin, metadata);
  if (sectorMembers.some((name) => name in patch)) await requireSector(metadata, issuer);
  const client: StoredClient = {
    ...known,
    status: status === "disabled" ? "disabled" : "active",
    metadata,
    updatedAtMs: nextVersion(known.updatedAtMs, nowMs()),
  };
  // A secret that the registered method does not use must not come back to life with a later change of method.
  const obsolete = usesSecret(metadata) ? [] : [deleteSecrets(database, client.clientId)];
  try {
    await commitChange(call, {
      statements: [updateClient(database, client, known.updatedAtMs), ...obsolete],
      forget: [{ kind: "client", id: client.clientId }],
      event: { action: "client.update", target: client.clientId, detail: { fields: Object.keys(call.body) } },
    });
  } catch (cause) {
    if (!mayHaveLost(cause)) throw cause;
    const current = await findClient(database, client.clientId);
    if (current?.updatedAtMs !== known.updatedAtMs) return undefined;
    throw cause;
  }
  return client;
}

/** Disabled and cut off before it goes: should that fail half-way, the client is still there to be deleted again. */
const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteClient",
  summary: "Deletes a client and ends every grant it has.",
  scope,
  reply: { status: 204, description: "The client is gone." },
  async handle(call) {
    const database = call.context.env.DB;
    const clientId = call.parameter("client_id");
    await retryOnConflict(() => tryUpdate({ ...call, body: { status: "disabled" } }));
    await cutOff(call, "client", clientId);
    await commitChange(call, {
      statements: [deleteSecrets(database, clientId), deleteClient(database, clientId)],
      forget: [{ kind: "client", id: clientId }],
      event: { action: "client.delete", target: clientId },
    });
    return { body: undefined };
  },
});

export const clientRoutes: readonly AdminRoute[] = [createClient, list, read, update, remove, ...secretRoutes];
