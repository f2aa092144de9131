import { isAcrSatisfied } from "@edge-op/protocol/oauth/authentication-context";
import { adminAudience } from "@edge-op/protocol/oauth/scope";
import {
  findAccessToken,
  requireUnrevoked,
  resourceError,
  verifyPresented,
} from "@edge-op/shared/callers/require-access-token";
import { settle } from "@edge-op/shared/control/settle";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AccessToken } from "@edge-op/shared/tokens/verified-tokens";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import type { AdminScope } from "./define-route.ts";

/** The audience and the scope that an access token must have. */
interface NeededAuthority {
  readonly audience: string;
  readonly scope: string;
}

/**
 * **Authorizes an admin operation**: a live access token of this provider with the audience `{issuer}/admin` and the scope of the operation. A user
 * must also have the scope as a permission: an application that may request admin scopes must not make every user an administrator. And the user has
 * signed in with two factors, whatever the client requires: one of several clients without `require_mfa` would go round that of the others. Cost: 0
 * calls warm (`direct`: 1 object call); a DPoP proof adds 1 object call.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3.1
 * @see https://www.rfc-editor.org/rfc/rfc9470#section-3
 */
export async function authorizeAdmin(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  scope: AdminScope,
): Promise<AccessToken> {
  const needed = { audience: adminAudience(context.settings.issuer), scope };
  const narrow = (token: AccessToken) => withinPermissions(context, isolate, token);
  const token = await requireToken(context, isolate, request, needed, narrow);
  if (token.forUser && !isAcrSatisfied(token.acr, "mfa")) {
    const { scheme } = findAccessToken(request);
    throw resourceError(scheme, "insufficient_user_authentication", "admin-needs-two-factors", { acr: "mfa" });
  }
  return token;
}

/** Returns a live access token of this provider with the required audience and, after `narrow`, the required scope. Cost: 0 calls warm. */
export async function requireToken(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  request: ReceivedRequest,
  { audience, scope }: NeededAuthority,
  narrow: (token: AccessToken) => Promise<AccessToken> = async (token) => token,
): Promise<AccessToken> {
  const presented = findAccessToken(request);
  const { scheme } = presented;
  return settle(context, isolate, async () => {
    const path = new URL(request.url).pathname;
    const { accessToken, proof } = await verifyPresented(context, isolate, request, presented, path);
    await requireUnrevoked(context, isolate, accessToken, scheme);
    const token = await narrow(accessToken);
    if (!token.audiences.includes(audience)) {
      throw resourceError(scheme, "invalid_token", "access-token-audience", { scope });
    }
    if (!token.scope.includes(scope)) {
      throw resourceError(scheme, "insufficient_scope", "scope-insufficient", { detail: `${scope} needed`, scope });
    }
    await proof?.spend();
    return token;
  });
}

/** Returns the token with the scopes that its subject may use: all of them for a client, and for a user those that are also permissions. */
async function withinPermissions(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  token: AccessToken,
): Promise<AccessToken> {
  if (!token.forUser) return token;
  // Roles of the deployment mean nothing in a grant of an organisation (ADR 72).
  if (token.orgId !== undefined) return { ...token, scope: [] };
  const { permissions } = await isolate.users.findRbacClaims(context, token.sub);
  return { ...token, scope: token.scope.filter((value) => permissions.includes(value)) };
}
