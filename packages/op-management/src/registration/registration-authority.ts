import { queryDatabase } from "@edge-op/shared/cache/query-database";
import { macClientSecret, matchesClientSecret } from "@edge-op/shared/client-auth/client-secret";
import { findClient, type StoredClient } from "@edge-op/shared/clients/client-store";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { settle } from "@edge-op/shared/revocation/settle";
import { randomBase64Url } from "@edge-op/shared/runtime/bytes";
import {
  findAccessToken,
  requireUnrevoked,
  resourceError,
  verifyPresented,
} from "@edge-op/shared/tokens/require-access-token";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";

/** The scope and, below the issuer, the audience of an initial access token. */
export const registrationScope = "client:register";
const registrationPath = "/register";

/**
 * **An initial access token** (RFC 7591 §1.2): an access token of this provider for `{issuer}/register` with the scope `client:register`. So it ends, is revoked, is bound and is
 * issued like others. Cost: 0 calls warm.
 */
export async function requireInitialToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<{ readonly clientId: string; readonly sub: string }> {
  const presented = findAccessToken(request);
  const { scheme } = presented;
  return settle(context, isolate, async () => {
    const { accessToken, proof } = await verifyPresented(context, isolate, request, presented, registrationPath);
    await requireUnrevoked(context, isolate, accessToken, scheme);
    const { audiences, scope, clientId, sub } = accessToken;
    if (!audiences.includes(`${context.settings.issuer}${registrationPath}`)) {
      throw resourceError(scheme, "invalid_token", "access-token-audience", { scope: registrationScope });
    }
    if (!scope.includes(registrationScope)) {
      throw resourceError(scheme, "insufficient_scope", "scope-insufficient", { scope: registrationScope });
    }
    await proof?.spend();
    return { clientId, sub };
  });
}

/** A registration access token (RFC 7592 §3): 256 random bits, stored as a MAC. */
export async function newRegistrationToken(
  env: ManagementEnv,
): Promise<{ readonly value: string; readonly mac: string }> {
  const value = randomBase64Url(32);
  return { value, mac: await macClientSecret(env, value) };
}

/** The client whose registration access token a request has. An unknown client and a wrong token read the same (RFC 7592 §2.1). */
export async function requireRegistrant(
  { env, arrivedAtMs }: RequestContext<ManagementEnv>,
  request: ReceivedRequest,
  clientId: string,
): Promise<{ readonly client: StoredClient; readonly token: string }> {
  const { scheme, token } = findAccessToken(request);
  const [client, mac] = await Promise.all([findClient(env.DB, clientId), findMac(env.DB, clientId)]);
  const held = mac === undefined ? [] : [{ id: clientId, mac, expiresAtMs: undefined }];
  const isOwner = await matchesClientSecret(env, token, held, arrivedAtMs);
  if (client === undefined || !isOwner || client.status !== "active") {
    throw resourceError(scheme, "invalid_token", "registration-token-invalid");
  }
  return { client, token };
}

async function findMac(database: D1Database, clientId: string): Promise<string | undefined> {
  const row = await queryDatabase(() =>
    database
      .prepare("SELECT registration_mac AS mac FROM clients WHERE client_id = ?1 AND origin = 'registration'")
      .bind(clientId)
      .first<{ readonly mac: string | null }>(),
  );
  return row?.mac ?? undefined;
}

/** Registration is off: 403, so that nobody takes it for a mistake in the request. */
export function requireRegistrationOpen(policy: "off" | "token" | "open"): void {
  if (policy !== "off") return;
  throw new OAuthError("access_denied", "registration-off", {
    status: 403,
    description: "Clients cannot register themselves here.",
  });
}
