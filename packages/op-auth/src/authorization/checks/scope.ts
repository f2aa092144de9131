import { OAuthError } from "@edge-op/shared/oauth/errors";
import { intersectScope, parseScope } from "@edge-op/shared/oauth/scope";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/**
 * **The requested scope, limited to what the client registered.** Other values are ignored (OIDC Core §3.1.2.1); an empty scope is refused.
 * `offline_access` needs a client that may refresh and a person who can consent: a silent request has it only if an administrator
 * has consented for everyone.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess
 */
export function checkScope({ client, parameters }: CheckInput): Pick<AuthorizationRequest, "scope"> {
  const { metadata } = client;
  const asked = parseScope(parameters.get("scope")) ?? [];
  const isSilent = parameters.get("prompt") === "none";
  const mayBeOffline = metadata.grant_types.includes("refresh_token") && (!isSilent || metadata.skip_consent === true);
  const scope = intersectScope(asked, metadata.scope.split(" ")).filter(
    (value) => value !== "offline_access" || mayBeOffline,
  );
  if (scope.length === 0) throw new OAuthError("invalid_scope", "no value that the client registered");
  return { scope };
}
