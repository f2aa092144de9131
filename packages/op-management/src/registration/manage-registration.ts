/**
 * **`/register/{client_id}`**: a client that registered itself reads, replaces or deletes its registration, with its registration access token. A
 * replacement follows the rules of a registration; an omitted member gets its default. A change is in force everywhere when the call returns. The
 * policy for new registrations does not apply here. Requests are limited by address, changes by {@link spendChange}; a replacement that changes
 * nothing commits nothing. A forged token costs 0 calls. Cost: a read 1 D1; a change 2 object calls (a deletion 1), 3 D1 and a round of the control
 * plane; a replacement without a change 2 D1.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7592#section-2
 */

import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { canonicalJson } from "@edge-op/protocol/oauth/authorization-details";
import { usesSecret } from "@edge-op/protocol/oauth/registered-names";
import { matchesClientSecret } from "@edge-op/shared/callers/client-secret";
import { requireDocument, requireSector } from "@edge-op/shared/clients/checked-metadata";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { settle } from "@edge-op/shared/control/settle";
import { JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ActorRequest } from "../admin/actor.ts";
import { retryOnConflict } from "../admin/optimistic-concurrency.ts";
import { clients, type StoredClient } from "../clients/client-table.ts";
import { deleteSecrets, listSecrets, newSecret } from "../clients/secret-store.ts";
import { imposedOn, requireRegistrationSize, selfRegistration } from "../clients/self-registration.ts";
import type { ManagementIsolate } from "../isolate.ts";
import { requireRegistered, requireRegistrationToken, spendChange } from "./registration-authority.ts";
import { describeRegistration, logDropped, readGiven, withIgnored } from "./registration-endpoint.ts";

type Context = RequestContext<ManagementEnv>;

export async function readRegistration(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<JsonResponse> {
  await requireOwner(context, isolate, request, clientId);
  const client = await requireRegistered(context, request, clientId);
  return new JsonResponse(await describeRegistration(context, client, undefined));
}

/** Requires the client's own token. Every request is first counted by address. */
async function requireOwner(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<void> {
  isolate.rateShield.countRegistration(context, request);
  await requireRegistrationToken(context, request, clientId);
}

export async function replaceRegistration(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<JsonResponse> {
  await requireOwner(context, isolate, request, clientId);
  let spent: Promise<void> | undefined;
  // Spent once per request, however often its change conflicts with another one.
  const spend = (client: StoredClient) => (spent ??= spendChange(context, isolate, request, client, "replacement"));
  return retryOnConflict(() => replaceOnce(context, isolate, request, clientId, spend));
}

/** Returns `undefined` if a concurrent change was committed first. */
async function replaceOnce(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
  spend: (client: StoredClient) => Promise<void>,
): Promise<JsonResponse | undefined> {
  const { env, settings } = context;
  const client = await requireRegistered(context, request, clientId);
  const body = readGiven(request);
  if (!isJsonObject(body) || body["client_id"] !== clientId) {
    throw invalidFields([{ path: "client_id", message: "must be that of the client" }], clientErrorCode);
  }
  await requireOwnSecret(context, isolate, clientId, body["client_secret"]);
  // A response does not contain an empty scope, so a client that sends the response back leaves it out.
  const isUnscoped = client.metadata.scope === "" && body["scope"] === undefined;
  const own = selfRegistration(body, settings);
  const scope = isUnscoped ? { scope: "" } : {};
  const metadata = await requireDocument({ ...imposedOn(client.metadata), ...own.metadata, ...scope }, settings);
  requireRegistrationSize(metadata);
  const isSame = canonicalJson(metadata) === canonicalJson(client.metadata);
  if (!isSame) await requireSector(context, metadata);
  const atMs = nowMs();
  const needsSecret = usesSecret(metadata.token_endpoint_auth_method);
  const held = await listSecrets(env.DB, clientId, atMs);
  const secret = needsSecret && held.length === 0 ? await newSecret(env, clientId, atMs) : undefined;
  const describe = async (stored: StoredClient) => {
    logDropped(context, clientId, own.dropped);
    return new JsonResponse(withIgnored(await describeRegistration(context, stored, secret?.value), body));
  };
  if (isSame && secret === undefined) return describe(client);
  await spend(client);
  const changed = await clients.update(
    ownRequest(context, clientId),
    client,
    { metadata },
    {
      statements: [
        ...(needsSecret ? [] : [deleteSecrets(env.DB, clientId)]),
        ...(secret === undefined ? [] : [secret.statement]),
      ],
      detail: { fields: Object.keys(body) },
    },
  );
  return changed && describe(changed);
}

/** A change by the client itself. */
function ownRequest(context: Context, clientId: string): ActorRequest {
  return { context, actor: { clientId, sub: clientId, scope: [] } };
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
    typeof given === "string" && (await matchesClientSecret(context.env, given, client, context.arrivedAtMs));
  if (isOwn) return;
  throw invalidFields([{ path: "client_secret", message: "must be the secret of the client" }], clientErrorCode);
}

/** Deletes and cuts off the client in one change. If it is not in force everywhere in time, `ControlPlane` completes it. */
export async function deleteRegistration(
  context: Context,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  clientId: string,
): Promise<Response> {
  await requireOwner(context, isolate, request, clientId);
  const client = await requireRegistered(context, request, clientId);
  await spendChange(context, isolate, request, client, "deletion");
  await clients.remove(ownRequest(context, clientId), client, {
    statements: [deleteSecrets(context.env.DB, clientId)],
    cutOff: { kind: "client", id: clientId },
  });
  return new Response(null, { status: 204, headers: noStore });
}
