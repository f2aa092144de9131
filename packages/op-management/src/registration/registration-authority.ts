import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { findAccessToken, type PresentationScheme, resourceError } from "@edge-op/shared/callers/require-access-token";
import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { macText, verifyMac } from "@edge-op/shared/secrets/mac";
import type { Lane } from "@edge-op/shared/sessions/attempts";
import type { AttemptLimit } from "@edge-op/shared/sessions/session-rpc";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { ManagementEnv } from "@edge-op/workers/env";
import { requireToken } from "../admin/authorize-admin.ts";
import { clients, type StoredClient } from "../clients/client-table.ts";
import type { ManagementIsolate } from "../isolate.ts";

/**
 * **An initial access token** (RFC 7591 §1.2): an access token of this provider for `{issuer}/register` with the scope `client:register`. It is
 * issued, bound, revoked and expires like any other access token. Cost: 0 calls warm.
 */
export function requireInitialToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<AccessToken> {
  const audience = `${context.settings.issuer}/register`;
  return requireToken(context, isolate, request, { audience, scope: "client:register" });
}

/**
 * **The registration access token** of a client (RFC 7592 §3): a MAC of its id, so that a forged one is refused without storage. It is not stored.
 */
export function registrationToken(env: ManagementEnv, clientId: string): Promise<string> {
  return macText(env, "registration-mac", clientId);
}

/** Refuses a request without the client's registration access token. Cost: 0 calls. */
export async function requireRegistrationToken(
  { env }: RequestContext<ManagementEnv>,
  request: ReceivedRequest,
  clientId: string,
): Promise<void> {
  const { scheme, token } = findAccessToken(request);
  if (!(await verifyMac(env, "registration-mac", clientId, token))) throw invalidToken(scheme);
}

/** The client of a verified token. A deleted client and a wrong token have the same response (RFC 7592 §2.1). Cost: 1 D1. */
export async function requireRegistered(
  { env }: RequestContext<ManagementEnv>,
  request: ReceivedRequest,
  clientId: string,
): Promise<StoredClient> {
  const client = await clients.find(env.DB, clientId);
  if (client?.origin === "registration" && client.status === "active") return client;
  throw invalidToken(findAccessToken(request).scheme);
}

function invalidToken(scheme: PresentationScheme): OAuthError {
  return resourceError(scheme, "invalid_token", "registration-token-invalid");
}

/** About 1,400 changes a day by one client. */
const clientLimit: AttemptLimit = { capacity: 10, drainMs: 60_000 };
/** A fifth of what all may cause: nobody uses up the room of the others from one address. */
const addressLimit: AttemptLimit = { capacity: 10, drainMs: 10_000 };
/** About 43,000 changes a day in both rooms; every isolate receives each of these changes. */
const commonLimit: AttemptLimit = { capacity: 30, drainMs: 4_000 };

/**
 * **The budget of control changes that clients which registered themselves may cause**, spent directly before a change is committed: first the
 * client's, then that of all such clients, with a share for each address. The first change of a client and its deletion have room of their own, so
 * that clients which change again and again do not keep others from them. Beyond it, the response is 429 and nothing is changed. Cost: 2 object
 * calls; a deletion 1.
 */
export async function spendChange(
  context: RequestContext<ManagementEnv>,
  { attempts }: Pick<ManagementIsolate, "attempts">,
  request: ReceivedRequest,
  { clientId, createdAtMs, updatedAtMs }: Pick<StoredClient, "clientId" | "createdAtMs" | "updatedAtMs">,
  change: "replacement" | "deletion",
): Promise<void> {
  const isOnce = change === "deletion" || updatedAtMs === createdAtMs;
  const address = clientAddress(context, request);
  const share = address === undefined ? [] : [{ part: `from ${address}`, limit: addressLimit }];
  const lane = (part: string): Lane => [...share, { part, limit: commonLimit }];
  const own: Lane = [{ part: "", limit: clientLimit }];
  const buckets = [
    // A client is deleted once, so its own budget says nothing.
    ...(change === "deletion" ? [] : [["the client's", `registration ${clientId}`, [own]] as const]),
    ["all clients'", "registrations", [...(isOnce ? [lane("once")] : []), lane("")]] as const,
  ];
  for (const [whose, subject, lanes] of buckets) {
    const result = await attempts.reserve(context, subject, lanes);
    if (result.kind === "allowed") continue;
    throw new OAuthError("rate_limited", "registrations-too-often", {
      detail: `${whose} budget`,
      headers: { "Retry-After": String(Math.ceil(result.retryAfterMs / 1000)) },
    });
  }
}

/** Responds 403 if registration is off, so that it is not mistaken for an invalid request. */
export function requireRegistrationOpen(policy: "off" | "token" | "open"): void {
  if (policy !== "off") return;
  throw new OAuthError("access_denied", "registration-off", {
    status: 403,
    description: "Client registration is disabled.",
  });
}
