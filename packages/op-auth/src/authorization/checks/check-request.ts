import { checkPreferredAcr } from "./acr.ts";
import { checkAuthorizationDetails } from "./authorization-details.ts";
import type { CodeRequest, ResponseTarget } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";
import { checkClaims } from "./claims.ts";
import { checkDpopKey } from "./dpop-key.ts";
import { checkExpectedSubject } from "./expected-subject.ts";
import { checkHints } from "./hints.ts";
import { checkMaxAge } from "./max-age.ts";
import { checkNonce } from "./nonce.ts";
import { checkPkce } from "./pkce.ts";
import { checkPrompt } from "./prompt.ts";
import { checkResource } from "./resource.ts";
import { checkResponseMode } from "./response-target.ts";
import { checkResponseType } from "./response-type.ts";
import { checkScope } from "./scope.ts";
import { checkUnsupportedParameters } from "./unsupported-parameters.ts";

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
    ...checkAuthorizationDetails(input),
    ...checkPrompt(input),
    ...checkMaxAge(input),
    ...checkNonce(input),
    ...checkHints(input),
    ...claims,
    ...checkPreferredAcr(input, claims.claims),
    ...(await checkExpectedSubject(input, claimedSubject)),
  };
}
