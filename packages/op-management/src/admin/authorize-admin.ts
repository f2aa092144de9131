import type { RequestContext } from "@edge-op/shared/http/request-context";
import { settle } from "@edge-op/shared/revocation/settle";
import type { AccessToken } from "@edge-op/shared/tokens/access-token";
import { bearerError, requireBearer } from "@edge-op/shared/tokens/require-bearer";
import type { ManagementIsolate } from "../isolate.ts";
import type { ManagementEnv } from "../management-env.ts";
import type { AdminScope } from "./admin-route.ts";

/**
 * **Who may call an admin operation**: a live access token of this provider that is meant for `{issuer}/admin` and carries
 * the operation's scope. Cost: 0 calls warm (`direct`: 1 object call).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 */
export async function authorizeAdmin(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: Request,
  scope: AdminScope,
): Promise<AccessToken> {
  const token = await settle(context, isolate, () => requireBearer(context, isolate, request));
  if (!token.audiences.includes(`${context.settings.issuer}/admin`)) {
    throw bearerError("invalid_token", "not meant for the admin API", { scope });
  }
  if (!token.scope.includes(scope)) throw bearerError("insufficient_scope", `${scope} needed`, { scope });
  return token;
}
