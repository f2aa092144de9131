import { requestedDetails } from "@edge-op/shared/directory/requested-details";
import { formatDetails } from "@edge-op/shared/oauth/authorization-details";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { loginContext } from "@edge-op/shared/oauth/login-context";
import type { AuthorizedGrant } from "@edge-op/shared/objects/authorized-grant";
import { grantRevocationRequest } from "@edge-op/shared/objects/grant-revocation";
import { defineGrant, type GrantRequest, type TokenResponse } from "../grant.ts";
import { spendChecked } from "../issuing/checked-targets.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { planAccessToken, toFamilyAccessToken } from "../issuing/issue-access-token.ts";
import { issueLoginTokens, type LoginTokens } from "../issuing/issue-login-tokens.ts";
import { refuseRevokedGrant } from "../issuing/refuse-revoked-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { findResources, longestLifetimeSeconds } from "../issuing/resource-rules.ts";
import { startFamily, tokensEndBySeconds } from "../issuing/start-family.ts";

const parameters = ["device_code", "resource", "authorization_details"] as const;

type DeviceRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **A device's poll, and the redemption of its code once the person has allowed it.** A poll writes nothing; only an approved code is
 * redeemed, once, and only then is a DPoP proof spent. A second redemption revokes the grant.
 * Cost warm: 1 object call; the redemption 2, or 3 with refresh token, and 1 signature, 2 with ID token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.4
 */
export const deviceCode = defineGrant({
  type: "urn:ietf:params:oauth:grant-type:device_code",
  parameters,
  issue,
});

interface RedeemedDevice extends Pick<LoginTokens, "resources" | "requestedDetails"> {
  readonly payload: AuthorizedGrant;
}

async function issue(request: DeviceRequest): Promise<TokenResponse> {
  const { payload, ...requested } = await redeem(request);
  const { grant, sub, scope } = payload;
  const [user] = await Promise.all([findActiveUser(request, sub), refuseRevokedGrant(request, payload)]);
  // After the redemption, as for an authorization code: a client that turns out to be disabled has spent its own code.
  await request.confirm();
  const login = loginContext(payload);
  const notAfterSeconds = tokensEndBySeconds(request, payload);
  const lifetimeSeconds = longestLifetimeSeconds(request, await findResources(request, payload.resources));
  const accessToken = toFamilyAccessToken(planAccessToken(request, grant, { lifetimeSeconds, notAfterSeconds }));
  const refreshToken = await startFamily(request, payload, accessToken);
  const tokens = { grant, login, user, accessToken, scope, refreshToken, notAfterSeconds };
  return issueLoginTokens(request, { ...tokens, ...requested });
}

async function redeem(request: DeviceRequest): Promise<RedeemedDevice> {
  const { context, isolate, client, form } = request;
  const { deviceCodes } = isolate;
  const { clientId } = client;
  const code = await deviceCodes.read(context, form.require("device_code"));
  if (code === undefined) throw new OAuthError("invalid_grant", "not a device code of this provider");
  const resources = requestedResources(form);
  const details = requestedDetails(context.settings, client, form.get("authorization_details"));
  const polled = await deviceCodes.poll(context, code, clientId);
  if (polled.kind !== "approved") throw new OAuthError(polled.kind, polled.reason);
  await request.proof?.spend();
  const presented = { clientId, resources, authorizationDetails: formatDetails(details) };
  const result = await spendChecked(request, resources, ({ targets }) =>
    deviceCodes.redeem(context, code, { ...presented, targets }),
  );
  switch (result.kind) {
    case "redeemed":
      return {
        payload: result.payload,
        resources: resources ?? result.payload.resources,
        requestedDetails: details,
      };
    case "replayed": {
      const revocation = await isolate.refreshFamilies.end(context, result.revocation);
      await isolate.revocation.revoke(context, revocation.grant.address, [grantRevocationRequest(revocation)]);
      throw new OAuthError("invalid_grant", "device code replayed");
    }
    default:
      throw new OAuthError(result.kind, result.reason);
  }
}
