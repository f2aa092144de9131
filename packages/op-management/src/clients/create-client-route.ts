import { findDocumentFaults } from "@edge-op/shared/clients/checked-metadata";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { defineRoute } from "../admin/define-route.ts";
import { toResponse } from "./client-resource.ts";
import { clientCreateSchema, createdClientSchema } from "./client-resource-schema.ts";
import { createClient } from "./create-client.ts";

/** **`POST /admin/clients`**. Cost: that of `createClient`. @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1 */
export const createClientRoute = defineRoute({
  method: "POST",
  path: "/clients",
  operationId: "createClient",
  summary: "Registers a client. Its secret, if it has one, is shown this once.",
  scope: "admin:clients",
  body: clientCreateSchema,
  errorCode: clientErrorCode,
  response: { status: 201, description: "The client.", schema: createdClientSchema },
  faultsBeside({ context }, { client_id: _, status: __, ...given }, wrong) {
    return findDocumentFaults(given, context.settings.issuer, wrong);
  },
  async handle(call) {
    const { client_id: clientId, status = "active", ...document } = call.body;
    const { client, secret } = await createClient(call, { clientId, status, document });
    const { body, headers } = toResponse(client);
    return {
      body: secret === undefined ? body : { ...body, client_secret: secret, client_secret_expires_at: 0 },
      headers: { ...headers, Location: `${call.context.settings.issuer}/admin/clients/${client.clientId}` },
    };
  },
});
