import { isSupportedAcr } from "@edge-op/protocol/oauth/authentication-context";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { authenticateClient, namedClientId } from "@edge-op/shared/callers/authenticate-client";
import { readProof } from "@edge-op/shared/callers/read-proof";
import { canBeAnyone } from "@edge-op/shared/clients/client";
import { formatUserCode } from "@edge-op/shared/codes/user-code";
import { type OpenDecision, settle } from "@edge-op/shared/control/settle";
import { placeOf } from "@edge-op/shared/http/asker";
import { JsonResponse } from "@edge-op/shared/http/json-response";
import { readForm } from "@edge-op/shared/http/read-form";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthorizationRequest, CheckInput } from "../authorization/authorization-request.ts";
import { checkAuthorizationDetails, checkResource, checkScope } from "../authorization/check-access.ts";
import { checkClaims } from "../authorization/check-claims.ts";
import { bindToProof, checkDpopKey } from "../authorization/check-proofs.ts";
import { checkMaxAge, checkPreferredAcr } from "../authorization/check-sign-in.ts";
import { readRequestAhead } from "../authorization/find-client.ts";
import { storeBesideCommit } from "../authorization/pushed-request.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { DeviceAuthorization } from "./waiting-device.ts";

/**
 * The requested claims and their requirements for the sign-in. A `sub` cannot be required, because anyone in front of the device may use the code.
 */
async function checkDeviceClaims(
  input: CheckInput,
): Promise<Pick<AuthorizationRequest, "claims" | "requiredAcr" | "preferredAcr">> {
  const { claimedSubject, ...claims } = await checkClaims(input);
  if (claimedSubject !== undefined) {
    throw new OAuthError("invalid_request", "device-names-subject", {
      description: "The claims parameter of a device authorization must not request a specific sub.",
    });
  }
  if (claims.requiredAcr?.every((acr) => !isSupportedAcr(acr))) {
    throw new OAuthError("unmet_authentication_requirements", "acr-unsupported");
  }
  return { ...claims, ...checkPreferredAcr(input, claims.claims) };
}

/**
 * **`POST /device_authorization`**: a device code and a user code for a client that authenticates as at /token. Parameters other than `scope`,
 * `resource`, `authorization_details`, `claims`, `acr_values`, `max_age` and `dpop_jkt` are ignored (§3.1): the user of the code is not known yet, so
 * hints about the person have no effect, and a `sub` in `claims` is refused. For clients that anyone can register or impersonate, requests are
 * limited by address. Without a lease the codes are stored while the decision is confirmed; nobody learns those of a refused request. Cost warm: 1
 * object call (a client assertion and a proof add 1 each). Calls that follow one another: 2 in a cold isolate, 1 after a pause, 1 in a busy one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-3.1
 */
export async function deviceAuthorizationEndpoint(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
): Promise<JsonResponse> {
  const { issuer, deviceCodeLifetimeSeconds, devicePollSeconds } = context.settings;
  const form = readForm(request);
  const decide = async (decision: OpenDecision) => {
    const client = await authenticateClient(context, isolate, request, form, "/device_authorization");
    // Whoever has the device would choose the organisation of the person who has the code (ADR 72).
    if (form.get("organization") !== undefined) {
      throw new OAuthError("invalid_request", "organization-parameter", {
        description: "A device authorization has no organization.",
      });
    }
    if (client.metadata.organization === "required") {
      throw new OAuthError("unauthorized_client", "organization-required");
    }
    // Each request stores a row.
    if (canBeAnyone(client)) isolate.rateShield.countAddress(context, request);
    if (!client.metadata.grant_types.includes("urn:ietf:params:oauth:grant-type:device_code")) {
      throw new OAuthError("unauthorized_client", "grant-type-not-registered");
    }
    const proof = await readProof(context, isolate, request, {
      path: "/device_authorization",
      client,
      refuse: (code, reason, options) => new OAuthError(code, reason, options),
    });
    const input = { context, isolate, client, parameters: bindToProof(proof, form) };
    const { resources, described } = await checkResource(input);
    const authorization: DeviceAuthorization = {
      ...checkScope(input, described),
      resources,
      ...(await checkAuthorizationDetails(input)),
      ...checkMaxAge(input),
      ...checkDpopKey(input),
      ...(await checkDeviceClaims(input)),
      requestedAtMs: context.arrivedAtMs,
      place: placeOf(context),
    };
    const device = {
      clientId: client.clientId,
      request: JSON.stringify(authorization),
      intervalMs: devicePollSeconds * 1000,
      expiresAtMs: context.arrivedAtMs + deviceCodeLifetimeSeconds * 1000,
    };
    return storeBesideCommit(decision, proof, () => isolate.deviceCodes.open(context, device));
  };
  const begun = readRequestAhead({ context, isolate, request }, form, () => namedClientId(request, form));
  const { deviceCode, userCode } = await settle(context, isolate, decide, begun);
  const shown = formatUserCode(userCode);
  return new JsonResponse({
    device_code: deviceCode,
    user_code: shown,
    verification_uri: `${issuer}/device`,
    verification_uri_complete: `${issuer}/device?user_code=${shown}`,
    expires_in: deviceCodeLifetimeSeconds,
    interval: devicePollSeconds,
  });
}
