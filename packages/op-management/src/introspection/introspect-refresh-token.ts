import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { readDetails } from "@edge-op/protocol/oauth/authorization-details";
import { formatConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { formatScope } from "@edge-op/protocol/oauth/scope";
import type { Client } from "@edge-op/shared/clients/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { grantSubject, isCutOffByRecords } from "@edge-op/shared/leases/revocation-subject";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { type IntrospectionResponse, inactive, maySee, noteInvisible } from "./introspection-response.ts";

/**
 * **Introspects a refresh token.** It is active if it is the one to be used next, its family is live and its grant is not revoked.
 * Visible to its client, and to clients that may introspect that client's tokens. Cost warm: 1 object call.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662#section-2.2
 */
export async function introspectRefreshToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  caller: Client,
  token: string,
): Promise<IntrospectionResponse> {
  const refreshToken = await readRefreshToken(context, token);
  if (refreshToken === undefined) return inactive;
  const state = await isolate.refreshFamilies.inspect(context, refreshToken);
  if (state === undefined || !state.live || !state.current) return inactive;
  const { family } = state;
  // The only audience of a refresh token is this provider, so no audience makes it visible.
  const seen = { clientId: family.clientId, audiences: [] };
  if (!maySee(caller, seen)) {
    noteInvisible(context, caller, seen);
    return inactive;
  }
  // The place of its next access token: its family decides about the grant, the shard about cut-offs.
  const { grantId, address } = family.grant;
  const place = await isolate.shardMap.placeAgain(context, "revocation", address, grantId);
  const subject = grantSubject({ grantId, address: place }, family);
  const [user, client, isRevoked] = await Promise.all([
    isolate.users.find(context, family.sub),
    isolate.clients.find(context, family.clientId),
    isolate.revocation.isRevoked(context, [subject]),
  ]);
  // A refresh with this token would be refused because of the same records.
  if (isRevoked || user?.status !== "active" || client?.status !== "active") return inactive;
  if (isCutOffByRecords(subject, [user, client])) return inactive;
  return {
    active: true,
    token_type: "refresh_token",
    client_id: family.clientId,
    sub: family.pairwiseSub ?? family.sub,
    iss: context.settings.issuer,
    iat: toSeconds(family.grant.grantCreatedAtMs),
    exp: toSeconds(family.expiresAtMs),
    scope: family.scope.length === 0 ? undefined : formatScope(family.scope),
    authorization_details: readDetails(family.authorizationDetails),
    cnf: formatConfirmation(family.cnf),
  };
}
