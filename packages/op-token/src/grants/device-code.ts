import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { requestedDetails } from "@edge-op/shared/clients/requested-details";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { redeemGrant } from "../issuing/redeem-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";

const parameters = ["device_code", "resource", "authorization_details"] as const;

type DeviceRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **A device's poll, and the redemption of its code once the person has allowed it.** A poll writes nothing; only an approved code is
 * redeemed, once, and only then is a DPoP proof spent. A second redemption revokes the grant.
 * Cost warm: 1 object call; the redemption 2 and 1 signature, 2 with ID token.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.4
 */
export const deviceCode = defineGrantModule({
  type: "urn:ietf:params:oauth:grant-type:device_code",
  parameters,
  decide,
  issue,
});

async function decide({ context, isolate, client, form }: DeviceRequest) {
  const { deviceCodes } = isolate;
  const code = await deviceCodes.read(context, form.require("device_code"));
  if (code === undefined) throw new OAuthError("invalid_grant", "device-code-invalid");
  const resources = requestedResources(form);
  const details = requestedDetails(context.settings, client, form.get("authorization_details"));
  const polled = await deviceCodes.poll(context, code, client.clientId);
  if (polled.kind !== "approved") throw refusalOfObject(polled);
  return { code, resources, details };
}

function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate } = request;
  return redeemGrant(request, due, {
    redeem: (presented) => isolate.deviceCodes.redeem(context, due.code, presented),
    replayed: "device-code-replayed",
  });
}
