import { commitChange } from "@edge-op/shared/administration/commit-change";
import { matchesClientSecret } from "@edge-op/shared/client-auth/client-secret";
import { requireDocument, requireSector } from "@edge-op/shared/clients/client-document";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { deleteClient, findClient, type StoredClient, updateClient } from "@edge-op/shared/clients/client-store";
import { newSecret } from "@edge-op/shared/clients/new-secret";
import { deleteSecrets, listSecrets } from "@edge-op/shared/clients/secret-store";
import { imposedOn, selfRegistration } from "@edge-op/shared/clients/self-registration";
import { JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readJson } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { usesSecret } from "@edge-op/shared/oauth/client-auth-methods";
import { settle } from "@edge-op/shared/revocation/settle";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { isJsonObject } from "@edge-op/shared/validation/json-object";
import { invalidFields } from "@edge-op/shared/validation/require-valid";
import { mayBeConflict, retryOnConflict } from "../admin/api/retry-on-conflict.ts";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";
import { requireRegistrant } from "./registration-authority.ts";
import { describeRegistration, withIgnored } from "./registration-endpoint.ts";

/**
 * **`/register/{client_id}`**: a client that registered itself reads, replaces or deletes its registration, with its registration access token. A replacement has the rules of a
 * registration; a member that is left out gets its default. In force everywhere when the call returns. Works whatever the policy for new registrations.
 * Cost: a read 2 D1; a change 3 D1 and a round of the control plane; a deletion two rounds.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7592#section-2
 */
type Context = RequestContext<ManagementEnv>;

export async function readRegistration(
  context: Context,
  request: ReceivedRequest,
  clientId: string,
): Promise<JsonResponse> {
  const { client, token } = await requireRegistrant(context, request, clientId);
  return new JsonResponse(describeRegistration(context.settings.issuer, client, token, undefined));
}

export function replaceRegistration(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<JsonResponse> {
  return retryOnConflict(() => replaceOnce(context, isolate, request, clientId));
}

/** `undefined` when another change came in between. */
async function replaceOnce(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<JsonResponse | undefined> {
  const { env, settings } = context;
  const { client, token } = await requireRegistrant(context, request, clientId);
  const body = readJson(request);
  if (!isJsonObject(body) || body["client_id"] !== clientId) {
    throw invalidFields([{ path: "client_id", message: "must be that of the client" }], clientErrorCode);
  }
  await requireOwnSecret(context, isolate, clientId, body["client_secret"]);
  const metadata = await requireDocument({ ...imposedOn(client.metadata), ...selfRegistration(body) }, settings.issuer);
  await requireSector(metadata, settings.issuer);
  const atMs = nowMs();
  const updatedAtMs = Math.max(atMs, client.updatedAtMs + 1);
  const changed: StoredClient = { ...client, metadata, updatedAtMs };
  const needsSecret = usesSecret(metadata.token_endpoint_auth_method);
  const held = await listSecrets(env.DB, clientId, atMs);
  const secret = needsSecret && held.length === 0 ? await newSecret(env, clientId, atMs) : undefined;
  try {
    await commitChange(
      { context, actor: { clientId, sub: clientId, scope: [] } },
      {
        statements: [
          updateClient(env.DB, changed, client.updatedAtMs),
          ...(needsSecret ? [] : [deleteSecrets(env.DB, clientId)]),
          ...(secret === undefined ? [] : [secret.statement]),
        ],
        forget: [{ kind: "client", id: clientId }],
        event: { action: "client.update", target: clientId, detail: { fields: Object.keys(body) } },
      },
    );
  } catch (cause) {
    if (!mayBeConflict(cause)) throw cause;
    const current = await findClient(env.DB, clientId);
    if (current?.updatedAtMs !== client.updatedAtMs) return undefined;
    throw cause;
  }
  return new JsonResponse(withIgnored(describeRegistration(settings.issuer, changed, token, secret?.value), body));
}

/** RFC 7592 §2.2: a `client_secret` must be the current one; a client cannot choose it. */
async function requireOwnSecret(
  context: Context,
  isolate: ManagementIsolate,
  clientId: string,
  given: unknown,
): Promise<void> {
  if (given === undefined || given === null) return;
  const client = await settle(context, isolate, () => isolate.clients.find(context, clientId));
  const isOwn =
    typeof given === "string" &&
    (await matchesClientSecret(context.env, given, client?.secrets ?? [], context.arrivedAtMs));
  if (isOwn) return;
  throw invalidFields([{ path: "client_secret", message: "must be the secret of the client" }], clientErrorCode);
}

/** Disabled and cut off before it goes, as by the admin API: should that fail half-way, it can be deleted again. */
export async function deleteRegistration(
  context: Context,
  request: ReceivedRequest,
  clientId: string,
): Promise<Response> {
  const { DB } = context.env;
  await requireRegistrant(context, request, clientId);
  const call = { context, actor: { clientId, sub: clientId, scope: [] } };
  const forget = [{ kind: "client", id: clientId }] as const;
  await commitChange(call, {
    statements: [],
    forget,
    event: { action: "client.update", target: clientId, detail: { fields: [] } },
    cutOff: { kind: "client", id: clientId },
  });
  await commitChange(call, {
    statements: [deleteSecrets(DB, clientId), deleteClient(DB, clientId)],
    forget,
    event: { action: "client.delete", target: clientId },
  });
  return new Response(null, { status: 204, headers: noStore });
}
