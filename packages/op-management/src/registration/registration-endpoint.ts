import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { givenMembers } from "@edge-op/shared/clients/own-metadata";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { readJson } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { log } from "@edge-op/shared/runtime/log";
import type { ManagementEnv } from "@edge-op/workers/env";
import { type StoredClient, withoutEmptyScope } from "../clients/client-table.ts";
import { createClient } from "../clients/create-client.ts";
import { ignoredMembers, selfRegistration } from "../clients/self-registration.ts";
import type { ManagementIsolate } from "../isolate.ts";
import { registrationToken, requireInitialToken, requireRegistrationOpen } from "./registration-authority.ts";
import { readStatement } from "./software-statement.ts";

/**
 * **`POST /register`**: a client registers itself if the deployment allows it: every client (`open`), or one with an initial access token or a
 * software statement of a trusted issuer (`token`). Requests are limited by address. A client without a consent within `CLIENT_UNUSED_LIFETIME` is
 * deleted. Cost: 2 D1; a fetch of `sector_identifier_uri` if there is one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3
 */
export async function registrationEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const { settings } = context;
  requireRegistrationOpen(settings.clientRegistration);
  isolate.rateShield.countRegistration(context, request);
  const hasToken = request.headers.has("authorization");
  // The token is checked first, so that the body of an unauthorized caller is not read.
  const holder = hasToken ? await requireInitialToken(context, isolate, request) : undefined;
  const body = await readStatement(context, isolate, readGiven(request));
  if (settings.clientRegistration === "token" && holder === undefined && !body.isVouchedFor) {
    await requireInitialToken(context, isolate, request);
  }
  const { metadata: document, dropped } = selfRegistration(body.metadata, settings);
  const actor = { clientId: holder?.clientId ?? "", sub: holder?.sub ?? "registration", scope: [] };
  const { client, secret } = await createClient(
    { context, actor },
    {
      clientId: undefined,
      status: "active",
      document,
      registersItself: true,
    },
  );
  logDropped(context, client.clientId, dropped);
  const statement = isJsonObject(body.metadata) ? body.metadata["software_statement"] : undefined;
  const described = {
    ...(await describeRegistration(context, client, secret)),
    // RFC 7591 §3.2.1: returned unmodified.
    ...(statement === undefined ? {} : { software_statement: statement }),
  };
  return new JsonResponse(withIgnored(described, body.metadata), { status: 201 });
}

/** The body, without its empty members. Other values than objects are refused by the rules. */
export function readGiven(request: ReceivedRequest): unknown {
  const body = readJson(request);
  return isJsonObject(body) ? givenMembers(body) : body;
}

export function logDropped(
  { requestId }: RequestContext<ManagementEnv>,
  clientId: string,
  dropped: readonly string[],
): void {
  if (dropped.length > 0) log("client-metadata-dropped", { clientId, dropped, requestId });
}

/** The response, with the names of requested members that are not registered, or not as requested. */
export function withIgnored(described: JsonObject, requested: unknown): JsonObject {
  const ignored = ignoredMembers(requested, described);
  return ignored.length === 0 ? described : { ...described, ignored_members: ignored };
}

/** The client information response (RFC 7591 §3.2.1, RFC 7592 §3). */
export async function describeRegistration(
  { env, settings }: RequestContext<ManagementEnv>,
  client: StoredClient,
  secret: string | undefined,
) {
  return {
    client_id: client.clientId,
    client_id_issued_at: toSeconds(client.createdAtMs),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: await registrationToken(env, client.clientId),
    registration_client_uri: `${settings.issuer}/register/${client.clientId}`,
    ...shown(client),
  };
}

/** The metadata without the members that only an administrator may set. */
function shown({ metadata }: StoredClient) {
  const { audiences: _, ...own } = metadata;
  return withoutEmptyScope(own);
}
