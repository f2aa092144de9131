import { usesSecret } from "@edge-op/shared/oauth/client-auth-methods";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { commitChange } from "../api/commit-change.ts";
import { defineRoute } from "../api/define-route.ts";
import { isSubjectTaken, takenError } from "../api/taken-ids.ts";
import { requireAuthorityOver } from "./client-authority.ts";
import { findDocumentFaults, requireDocument, requireSector } from "./client-document.ts";
import { toResponse } from "./client-resource.ts";
import { clientErrorCode } from "./client-rules.ts";
import { clientCreateSchema, createdClientSchema } from "./client-schema.ts";
import { insertClient, type StoredClient } from "./client-store.ts";
import { newSecret } from "./new-secret.ts";

/** **`POST /admin/clients`**. Cost: 1 D1; for a `client_id` of the caller's choice also a round of the control plane. @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1 */
export const createClient = defineRoute({
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
    const { client_id: chosen, status = "active", ...given } = call.body;
    const { env, settings } = call.context;
    const metadata = await requireDocument(given, settings.issuer);
    requireAuthorityOver(call.admin, metadata);
    await requireSector(metadata, settings.issuer);
    const clientId = chosen ?? newClientId();
    const atMs = nowMs();
    const client: StoredClient = { clientId, status, metadata, createdAtMs: atMs, updatedAtMs: atMs };
    const secret = usesSecret(metadata.token_endpoint_auth_method) ? await newSecret(env, clientId, atMs) : undefined;
    try {
      await commitChange(call, {
        statements: [insertClient(env.DB, client), ...(secret === undefined ? [] : [secret.statement])],
        // Isolates may remember that the client does not exist; nobody has tried an id that was made just now.
        forget: chosen === undefined ? [] : [{ kind: "client", id: clientId }],
        event: { action: "client.create", target: clientId },
      });
    } catch (cause) {
      throw (await isSubjectTaken(env.DB, clientId)) ? takenError("client_id") : cause;
    }
    const { body, headers } = toResponse(client);
    return {
      body: secret === undefined ? body : { ...body, client_secret: secret.value, client_secret_expires_at: 0 },
      headers: { ...headers, Location: `${settings.issuer}/admin/clients/${clientId}` },
    };
  },
});

/** 128 random bits that begin with a letter or digit. */
function newClientId(): string {
  return `c${randomBase64Url(16)}`;
}
