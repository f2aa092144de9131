import { authenticateClient, namedClientId } from "@edge-op/shared/callers/authenticate-client";
import { readAhead } from "@edge-op/shared/callers/read-ahead";
import type { Client } from "@edge-op/shared/clients/client";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { type RevokeRequest, rowUntilMs, tokenKey } from "@edge-op/shared/grants/grant-revocation";
import { noStore } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { formatTokenId } from "@edge-op/shared/storage/shard-address";
import { readAccessToken } from "@edge-op/shared/tokens/access-token";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { foreignToken } from "./foreign-token.ts";
import { revokeRefreshToken } from "./revoke-refresh-token.ts";

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
