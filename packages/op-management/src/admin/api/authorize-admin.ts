import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { adminAudience } from "@edge-op/shared/oauth/admin-scope";
import { settle } from "@edge-op/shared/revocation/settle";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import { bearerError, requireBearer } from "@edge-op/shared/tokens/require-bearer";
import type { ManagementIsolate } from "../../isolate.ts";
import type { ManagementEnv } from "../../management-env.ts";
import type { AdminScope } from "./define-route.ts";

/**
 * **Authorizes an admin operation**: a live access token of this provider with the audience `{issuer}/admin` and the scope of
 * the operation. A user needs the scope as a permission too: an application that may request admin scopes must not make
 * every user an administrator. Cost: 0 calls warm (`direct`: 1 object call).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export async function authorizeAdmin(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  scope: AdminScope,
): Promise<AccessToken> {
  const token = await settle(context, isolate, async () =>
    withinPermissions(context, isolate, await requireBearer(context, isolate, request)),
  );
  if (!token.audiences.includes(adminAudience(context.settings.issuer))) {
    throw bearerError("invalid_token", "not meant for the admin API", { scope });
  }
  if (!token.scope.includes(scope)) throw bearerError("insufficient_scope", `${scope} needed`, { scope });
  return token;
}

/** The token with the scopes that its subject may use: for a client all of them, for a user those that are also permissions. */
async function withinPermissions(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  token: AccessToken,
): Promise<AccessToken> {
  if (!token.forUser) return token;
  const { permissions } = await isolate.users.findRbacClaims(context, token.sub);
  return { ...token, scope: token.scope.filter((value) => permissions.includes(value)) };
}
