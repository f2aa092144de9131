import type { Client } from "@edge-op/shared/directory/client";
import type { Form } from "@edge-op/shared/http/read-form";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { type ResponseMode, type ResponseTarget, responseModes } from "./authorization-request.ts";
import { checkRedirectUri } from "./redirect-uri.ts";

/** `state` is returned in a URL. */
const stateCharacters = 4096;

/**
 * **Where the response is sent.** Once it is known, refusals are redirected too. An unknown `response_mode` is refused by `query`,
 * the default for codes.
 *
 * @see https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes
 */
export function checkResponseTarget(client: Client, parameters: Form): ResponseTarget {
  const redirectUri = checkRedirectUri(client, parameters);
  const mode = parameters.get("response_mode");
  const state = parameters.get("state");
  return {
    redirectUri,
    responseMode: isResponseMode(mode) ? mode : "query",
    state: state !== undefined && state.length <= stateCharacters ? state : undefined,
  };
}

export function checkResponseMode(parameters: Form): void {
  const mode = parameters.get("response_mode");
  if (mode !== undefined && !isResponseMode(mode)) {
    throw new OAuthError("invalid_request", "unknown response_mode", {
      description: "The response_mode is not supported.",
    });
  }
  if ((parameters.get("state")?.length ?? 0) > stateCharacters) {
    throw new OAuthError("invalid_request", "state too long", { description: "The state is too long." });
  }
}

function isResponseMode(mode: string | undefined): mode is ResponseMode {
  return responseModes.some((known) => known === mode);
}
