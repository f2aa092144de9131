import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { CheckInput, CodeRequest, ResponseTarget } from "./authorization-request.ts";
import { checkAuthorizationDetails, checkOrganization, checkResource, checkScope } from "./check-access.ts";
import { checkClaims } from "./check-claims.ts";
import { checkDpopKey, checkPkce } from "./check-proofs.ts";
import { checkExpectedSubject, checkHints, checkMaxAge, checkPreferredAcr, checkPrompt } from "./check-sign-in.ts";
import { checkResponseMode } from "./response-target.ts";

/**
 * **The rules of an authorization request, in their order**; the first rule that is broken is the refusal. /authorize and /par apply
 * the same rules. Cost: 1 verification if there is an `id_token_hint`.
 */
export async function checkRequest(input: CheckInput, target: ResponseTarget): Promise<CodeRequest> {
  checkResponseMode(input);
  checkUnsupportedParameters(input);
  checkResponseType(input);
  const { claimedSubject, ...claims } = await checkClaims(input);
  const dpop = checkDpopKey(input);
  const { resources, described } = await checkResource(input);
  const { scope } = checkScope(input, described);
  return {
    ...target,
    clientId: input.client.clientId,
    ...checkPkce(input, scope),
    ...dpop,
    scope,
    resources,
    ...(await checkAuthorizationDetails(input)),
    ...checkOrganization(input, scope),
    ...checkPrompt(input),
    ...checkMaxAge(input),
    ...checkNonce(input),
    ...checkHints(input),
    ...claims,
    ...checkPreferredAcr(input, claims.claims),
    ...(await checkExpectedSubject(input, claimedSubject)),
  };
}

/**
 * **`response_type=code`, for clients that registered it.** The implicit and hybrid types leak tokens through URLs.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1.2
 */
function checkResponseType({ client, parameters }: CheckInput): void {
  const responseType = parameters.require("response_type");
  if (responseType !== "code") throw new OAuthError("unsupported_response_type", "response-type-unsupported");
  const { grant_types: grantTypes, response_types: responseTypes } = client.metadata;
  if (!grantTypes.includes("authorization_code") || !responseTypes.includes("code")) {
    throw new OAuthError("unauthorized_client", "code-flow-not-registered");
  }
}

/** The nonce is stored with the code and copied to the ID token, so its length is limited. */
const nonceCharacters = 1024;

/** **`nonce` is passed on unmodified.** @see https://openid.net/specs/openid-connect-core-1_0.html#NonceNotes */
function checkNonce({ parameters }: CheckInput): Pick<CodeRequest, "nonce"> {
  const nonce = parameters.get("nonce");
  if ((nonce?.length ?? 0) > nonceCharacters) {
    throw new OAuthError("invalid_request", "nonce-too-long", { description: "The nonce is too long." });
  }
  return { nonce };
}

/** **Refuses the `registration` parameter** with its own error code. @see https://openid.net/specs/openid-connect-core-1_0.html#AuthError */
function checkUnsupportedParameters({ parameters }: CheckInput): void {
  if (parameters.get("registration") !== undefined) {
    throw new OAuthError("registration_not_supported", "registration-parameter");
  }
}
