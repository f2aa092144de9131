import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { requestedDetails } from "@edge-op/shared/clients/requested-access";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { findActiveUser, refuseRevokedGrant } from "../issuing/find-active-user.ts";
import { issueGrant, refuseReplay } from "../issuing/issue-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { spend } from "../issuing/spend.ts";

const parameters = ["device_code", "resource", "authorization_details"] as const;

type DeviceRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **A device's poll, and the redemption of its code once the person has allowed it.** A poll writes nothing; only an approved code is
 * redeemed, once, and only then is a DPoP proof spent. A second redemption revokes the grant. The poll returns the user and the grant, so both are
 * checked before the code is spent: a refused redemption can be sent again. Cost warm: 1 object call; the redemption 2, and 1 signature, 2 with ID
 * token. Calls that follow one another at a redemption: 4 in a cold isolate, 3 after a pause, 2 in a busy one: the check needs what the poll returns.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.4
 */
export const deviceCode = defineGrantModule({
  type: "urn:ietf:params:oauth:grant-type:device_code",
  parameters,
  credentials: [],
  decide,
  issue,
});

async function decide(request: DeviceRequest) {
  const { context, isolate, client, form } = request;
  const { deviceCodes } = isolate;
  const code = await deviceCodes.read(context, form.require("device_code"));
  if (code === undefined) throw new OAuthError("invalid_grant", "device-code-invalid");
  const resources = await requestedResources(request);
  const details = await requestedDetails(context.settings, client, form.get("authorization_details"));
  const polled = await deviceCodes.poll(context, code, client.clientId);
  if (polled.kind !== "approved") throw refusalOfObject(polled);
  return { code, approved: polled, resources, details };
}

async function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const { code, approved, resources, details } = due;
  const [user] = await Promise.all([
    findActiveUser(request, approved.sub, undefined),
    refuseRevokedGrant(request, approved),
  ]);
  await request.validate();
  // Before the code, so that an identical retry of a request does not count as a second use of the code.
  await proof?.spend();
  const presented = {
    clientId: client.clientId,
    cnf: proof?.cnf,
    resources,
    authorizationDetails: formatDetails(details),
  };
  const { result, checked } = await spend(request, resources, ({ targets }) =>
    isolate.deviceCodes.redeem(context, code, { ...presented, targets }),
  );
  if (result.kind === "replayed") return refuseReplay(request, result.revocation, "device-code-replayed");
  if (result.kind !== "redeemed") throw refusalOfObject(result);
  const { payload } = result;
  return issueGrant(await request.commit(), { payload, user, checked, resources, details });
}
