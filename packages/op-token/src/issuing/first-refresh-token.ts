import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import { isPublicClient } from "@edge-op/shared/clients/client";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import type { FamilyAccessToken } from "@edge-op/shared/refresh/refresh-family-rpc";
import type { ClientRequest, CommittedRequest } from "../grant-module.ts";
import { tokensEndAtMs } from "./issue-access-token.ts";

/**
 * **The first refresh token of a redeemed code or device code**; `undefined` if the authorization or the client's registration allows none. It
 * contains its family, whose row is written when the token is used. The family keeps everything that was authorized; narrowing in this request only
 * applies to its access token. Cost: 0 calls; 1 object call for a family that is too long for a token.
 */
export async function firstRefreshToken(
  request: CommittedRequest,
  payload: AuthorizedGrant,
  accessToken: FamilyAccessToken,
): Promise<string | undefined> {
  const { context, isolate, client, proof } = request;
  const { grant, clientId, scope, resources, refreshable, familyAddress, grantEndsAtMs } = payload;
  if (!refreshable || !client.metadata.grant_types.includes("refresh_token")) return undefined;
  const lifeMs = context.settings.refreshTokenLifetimeSeconds * 1000;
  // Whatever ends the grant remembers that until `grantEndsAtMs`.
  const expiresAtMs = Math.min(grant.grantCreatedAtMs + lifeMs, grantEndsAtMs);
  // RFC 9449 §5: a confidential client authenticates, so it may change its key, but not omit one.
  const cnf = isPublicClient(client) ? proof?.cnf : undefined;
  const confirmedBy = proof?.cnf.method;
  const family = { ...loginContext(payload), cnf, confirmedBy, grant, clientId, scope, resources, expiresAtMs };
  return isolate.refreshFamilies.create(context, family, tokensEndAtMs(request, accessToken), familyAddress);
}

/** The expiry that was fixed when the person decided; raising a setting later does not extend it. */
export function tokensEndBySeconds({ context }: ClientRequest, { tokenLifetimeSeconds }: AuthorizedGrant): number {
  return toSeconds(context.arrivedAtMs) + tokenLifetimeSeconds;
}
