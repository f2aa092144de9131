import type { Client } from "@edge-op/shared/directory/client";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { formatScope } from "@edge-op/shared/oauth/scope";
import { toSeconds } from "@edge-op/shared/runtime/clock";
import { readRefreshToken } from "@edge-op/shared/tokens/refresh-token";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";
import { maySee, noteInvisible } from "./introspection-authority.ts";
import { type IntrospectionResponse, inactive } from "./introspection-response.ts";

/**
 * **Introspects a refresh token**: active is the one that may be used next, of a family that lives, under a grant that
 * nothing revoked; shown to its client alone, or to who may see that client's tokens. Cost warm: 1 object call.
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
  // A refresh token is for nobody but its client: no audience makes it visible.
  const seen = { clientId: family.clientId, audiences: [] };
  if (!maySee(caller, seen)) {
    noteInvisible(context, caller, seen);
    return inactive;
  }
  const { sub, clientId, grant } = family;
  // Only the grant is asked for: a refresh token has no row of its own.
  const subject = { ...grant, jti: grant.grantId, sub, clientId, lineage: [] };
  if (await isolate.revocation.isRevoked(context, [subject])) return inactive;
  return {
    active: true,
    token_type: "refresh_token",
    client_id: family.clientId,
    sub: family.pairwiseSub ?? family.sub,
    iss: context.settings.issuer,
    iat: toSeconds(family.grant.grantCreatedAtMs),
    exp: toSeconds(family.expiresAtMs),
    scope: family.scope.length === 0 ? undefined : formatScope(family.scope),
  };
}
