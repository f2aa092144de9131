import type { Client } from "@edge-op/shared/clients/client";
import { longestTokenLifetimeSeconds } from "@edge-op/shared/config/settings";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import { readRefreshToken } from "@edge-op/shared/grants/refresh-token";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { rowUntilMs } from "@edge-op/shared/leases/grant-revocation";
import { grantKey } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { foreignToken } from "./foreign-token.ts";

/**
 * **Revokes a refresh token**: its family, and the grant with all of its access tokens (RFC 7009 §2.1). A used token and a token of an ended family
 * are accepted too, because the request that ended the family may not have reached the grant's shard. Cost: 3 object calls.
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
  // The family first: it issues no token after that, so the row needs to outlive only those that it has issued (ADR 16).
  const untilMs = await isolate.refreshFamilies.kill(context, refreshToken, "revoked by its client");
  const { grantId, address } = family.grant;
  await isolate.revocation.revoke(context, address, [
    {
      key: grantKey(grantId),
      untilMs: untilMs ?? rowUntilMs(family.expiresAtMs + longestTokenLifetimeSeconds * 1000),
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
    },
  ]);
}
