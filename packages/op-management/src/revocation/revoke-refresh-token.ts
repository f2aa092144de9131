import type { Client } from "@edge-op/shared/clients/client";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import { revokeAtPlaces } from "@edge-op/shared/endings/endings";
import { grantKey, requestsAt } from "@edge-op/shared/grants/grant-revocation";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { forgetInBackground } from "@edge-op/shared/users/offline-grants";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { foreignToken } from "./foreign-token.ts";

/**
 * **Revokes a refresh token**: its family, and the grant with all of its access tokens (RFC 7009 §2.1). A used token and a token of an ended family
 * are accepted too, because the request that ended the family may not have reached the grant's shards. Cost: 3 object calls; one more for each
 * further place of the grant; in the background 1 D1 call for a grant with offline access, which is not listed any more.
 */
export async function revokeRefreshToken(
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
