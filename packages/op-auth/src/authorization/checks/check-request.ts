import { checkPreferredAcr } from "./acr.ts";
import type { AuthorizationRequest, ResponseTarget } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";
import { checkClaims } from "./claims.ts";
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
 * **The rules of an authorization request, in the order they are asked**; the first that is broken is the answer. The same for
 * a request that is pushed and one that arrives. Cost: a verification if there is an `id_token_hint`.
 */
export async function checkRequest(input: CheckInput, target: ResponseTarget): Promise<AuthorizationRequest> {
  checkResponseMode(input.parameters);
  checkUnsupportedParameters(input);
  checkResponseType(input);
  const { claimedSubject, ...claims } = checkClaims(input);
  return {
    ...target,
    ...checkPkce(input),
    ...checkScope(input),
    ...checkResource(input),
    ...checkPrompt(input),
    ...checkMaxAge(input),
    ...checkNonce(input),
    ...checkHints(input),
    ...claims,
    ...checkPreferredAcr(input, claims.claims),
    ...(await checkExpectedSubject(input, claimedSubject)),
  };
}
