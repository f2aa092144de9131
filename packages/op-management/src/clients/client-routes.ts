import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, readCursor } from "../admin/paging.ts";
import { toResource, toResponse } from "./client-resource.ts";
import { clientListQuery, clientListSchema, clientSchema } from "./client-resource-schema.ts";
import { deleteClient, listClients, requireClient } from "./client-store.ts";
import { createClientRoute } from "./create-client-route.ts";
import { secretRoutes } from "./secret-routes.ts";
import { deleteSecrets } from "./secret-store.ts";
import { applyClientPatch, updateClientRoute } from "./update-client.ts";

/**
 * **`/admin/clients`**. Cost: a read 1 D1; a deletion 3 D1 and three rounds of the control plane over the live shards.
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
  response: { status: 200, description: "A page of clients.", schema: clientListSchema },
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
  response: { status: 200, description: "The client.", schema: clientSchema },
  async handle({ context, parameter }) {
    return toResponse(await requireClient(context.env.DB, parameter("client_id")));
  },
});

/** Disabled and cut off before it goes: should that fail half-way, the client is still there to be deleted again. */
const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteClient",
  summary: "Deletes a client and ends every grant it has.",
  scope,
  response: { status: 204, description: "The client is gone." },
  async handle(call) {
    const database = call.context.env.DB;
    const clientId = call.parameter("client_id");
    await applyClientPatch({ ...call, body: { status: "disabled" } });
    await commitChange(call, {
      statements: [deleteSecrets(database, clientId), deleteClient(database, clientId)],
      forget: [{ kind: "client", id: clientId }],
      event: { action: "client.delete", target: clientId },
    });
    return { body: undefined };
  },
});

export const clientRoutes: readonly AdminRoute[] = [
  createClientRoute,
  list,
  read,
  updateClientRoute,
  remove,
  ...secretRoutes,
];
