import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { authenticateClient, namedClientId } from "@edge-op/shared/callers/authenticate-client";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import type { Client } from "@edge-op/shared/clients/client";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { revokeAtPlaces } from "@edge-op/shared/endings/endings";
import {
  grantKey,
  type RevokeRequest,
  requestsAt,
  rowUntilMs,
  tokenKey,
} from "@edge-op/shared/grants/grant-revocation";
import { noStore } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { formatTokenId } from "@edge-op/shared/storage/shard-address";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import { forgetInBackground } from "@edge-op/shared/users/offline-grants";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";

/**
 * **`POST /revoke`.** Revokes an access token with every token exchanged from it, or a refresh token with its whole grant. Responds 200 when the
 * revocation is in force everywhere, 503 if a shard does not respond, and 200 for a token of another issuer (RFC 7009 §2.2). Cost: 1 object call, 3
 * for a refresh token. Calls that follow one another, for an access token: 2 in a cold isolate, 1 otherwise.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7009#section-2
 */
export async function revocationEndpoint(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
): Promise<Response> {
  const form = readForm(request);
  const decide = async (decision: OpenDecision) => {
    const client = await authenticateClient(context, isolate, request, form, "/revoke");
    const token = form.require("token");
    if (token.startsWith("rt.")) await revokeRefreshToken(context, isolate, client, token, decision);
    else await revokeAccessToken(context, isolate, client, token, decision);
  };
  const begun = readAhead(context, isolate, request, () => [{ clientIds: [namedClientId(request, form)] }]);
  await settle(context, isolate, decide, begun);
  return new Response(null, { headers: noStore });
}

async function revokeAccessToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  client: Client,
  token: string,
  decision: OpenDecision,
): Promise<void> {
  const accessToken = await readAccessToken(context, isolate, token);
  if (accessToken === undefined) return;
  if (accessToken.clientId !== client.clientId) throw foreignToken();
  const jti = formatTokenId(accessToken.id);
  const { address } = accessToken.id;
  const revocations: RevokeRequest[] = [
    {
      key: tokenKey(jti),
      // A token exchanged from another one expires with it at the latest.
      untilMs: rowUntilMs(accessToken.expiresAtSeconds * 1000),
      operationId: `revoke ${jti}`,
      event: {
        type: "token.revoked",
        payload: { jti, client_id: client.clientId, sub: accessToken.sub, requestId: context.requestId },
      },
    },
  ];
  // Without a lease, the shard checks that the client and the keys have not changed, and revokes, in one call.
  await decision.commitWith((condition) => isolate.revocation.revoke(context, address, revocations, condition));
}

/**
 * **Revokes a refresh token**: its family, and the grant with all of its access tokens (RFC 7009 §2.1). A used token and a token of an ended family
 * are accepted too, because the request that ended the family may not have reached the grant's shards. Cost: 3 object calls; one more for each
 * further place of the grant; in the background 1 D1 call for a grant with offline access, which is not listed any more.
 */
async function revokeRefreshToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  client: Client,
  token: string,
  decision: OpenDecision,
): Promise<void> {
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken === undefined) return;
  const state = await isolate.refreshFamilies.inspect(context, refreshToken);
  if (state === undefined) return;
  const { family } = state;
  if (family.clientId !== client.clientId) throw foreignToken();
  await decision.commit();
  // The family first: it issues no token after that, and knows where those that it has issued are revoked (ADR 16).
  const places = await isolate.refreshFamilies.kill(context, refreshToken, "revoked by its client");
  // Its row was deleted in between: every token has expired.
  if (places === undefined) return;
  const { grantId } = family.grant;
  const request = {
    key: grantKey(grantId),
    operationId: `revoke ${grantId}`,
    event: {
      type: "grant.revoked",
      payload: {
        grant_id: grantId,
        client_id: client.clientId,
        sub: family.sub,
        reason: "refresh_token_revoked",
        requestId: context.requestId,
      },
    },
  };
  await revokeAtPlaces(context, isolate, requestsAt(places, request, nowMs()));
  const { sub, clientId, scope } = family;
  if (scope.includes("offline_access")) forgetInBackground(context, sub, { clientId, grantId });
}

/** **Refuses to revoke another client's token.** @see https://www.rfc-editor.org/rfc/rfc7009#section-2.1 */
function foreignToken(): OAuthError {
  return new OAuthError("invalid_grant", "token-of-other-client", {
    description: "The token was not issued to this client.",
  });
}
