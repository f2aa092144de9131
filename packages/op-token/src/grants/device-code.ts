import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { requestedDetails } from "@edge-op/shared/clients/requested-details";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { spendChecked } from "../issuing/checked-targets.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { issueGrant, refuseReplay } from "../issuing/issue-grant.ts";
import { refuseRevokedGrant } from "../issuing/refuse-revoked-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";

const parameters = ["device_code", "resource", "authorization_details"] as const;

type DeviceRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **A device's poll, and the redemption of its code once the person has allowed it.** A poll writes nothing; only an approved code is
 * redeemed, once, and only then is a DPoP proof spent. A second redemption revokes the grant. Only the object knows the user and the grant, so both
 * are checked after the code is spent. Cost warm: 1 object call; the redemption 2, and 1 signature, 2 with ID token.
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

async function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const { code, resources, details } = due;
  await prepareRedemption(request);
  const presented = {
    clientId: client.clientId,
    cnf: proof?.cnf,
    resources,
    authorizationDetails: formatDetails(details),
  };
  const { result, checked } = await spendChecked(request, resources, ({ targets }) =>
    isolate.deviceCodes.redeem(context, code, { ...presented, targets }),
  );
  if (result.kind === "replayed") return refuseReplay(request, result.revocation, "device-code-replayed");
  if (result.kind !== "redeemed") throw refusalOfObject(result);
  const { payload } = result;
  const [user] = await Promise.all([findActiveUser(request, payload.sub), refuseRevokedGrant(request, payload)]);
  // The check of the grant may have returned a newer control version.
  await request.commit();
  return issueGrant(request, { payload, user, checked, resources, details });
}

/**
 * Call it before a code is redeemed: an isolate without a lease may have an outdated copy of the client, and its refusal would spend the code. It
 * also checks the proof, so that an identical retry of a request does not count as a second use of the code. Cost: 1 object call without a lease. In
 * `direct`, where no isolate has a lease, the check of the redeemed grant returns the version.
 */
async function prepareRedemption({ context, proof, validate }: IssueRequest): Promise<void> {
  if (context.settings.revocationMode === "direct") await proof?.spend();
  else await validate();
}
