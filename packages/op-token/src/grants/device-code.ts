import { requestedDetails } from "@edge-op/shared/directory/requested-details";
import { formatDetails } from "@edge-op/shared/oauth/authorization-details";
import { OAuthError, refusalOfObject } from "@edge-op/shared/oauth/errors";
import type { AuthorizedGrant } from "@edge-op/shared/objects/authorized-grant";
import { defineGrant, type GrantRequest, type TokenResponse } from "../grant.ts";
import { spendChecked } from "../issuing/checked-targets.ts";
import { issueForRedeemed, prepareRedemption, type RedeemedGrant, requireRedeemed } from "../issuing/redeemed-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";

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

async function issue(request: DeviceRequest): Promise<TokenResponse> {
  return issueForRedeemed(request, await redeem(request));
}

async function redeem(request: DeviceRequest): Promise<RedeemedGrant<AuthorizedGrant>> {
  const { context, isolate, client, form } = request;
  const { deviceCodes } = isolate;
  const { clientId } = client;
  const code = await deviceCodes.read(context, form.require("device_code"));
  if (code === undefined) throw new OAuthError("invalid_grant", "device-code-invalid");
  const resources = requestedResources(form);
  const details = requestedDetails(context.settings, client, form.get("authorization_details"));
  const polled = await deviceCodes.poll(context, code, clientId);
  if (polled.kind !== "approved") throw refusalOfObject(polled);
  await prepareRedemption(request);
  const presented = { clientId, cnf: request.proof?.cnf, resources, authorizationDetails: formatDetails(details) };
  const result = await spendChecked(request, resources, ({ targets }) =>
    deviceCodes.redeem(context, code, { ...presented, targets }),
  );
  return requireRedeemed(request, result, { resources, details }, "device-code-replayed");
}
