import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client } from "@edge-op/shared/clients/client";
import { signsMessages } from "@edge-op/shared/clients/security-profile";
import type { Settings } from "@edge-op/shared/config/settings";
import type { Form } from "@edge-op/shared/http/read-form";
import { type ResponseMode, type ResponseTarget, responseModes, signedResponseModes } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";
import { checkRedirectUri } from "./redirect-uri.ts";

/** `state` is returned in a URL, so its length is limited. */
const stateCharacters = 4096;

/**
 * **Where the response is sent.** Once it is known, refusals are redirected too. An unknown `response_mode` is refused by `query`,
 * the default for codes. With FAPI 2.0 Message Signing every response is signed.
 *
 * @see https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes
 * @see https://openid.net/specs/oauth-v2-jarm-final.html#section-2.3
 */
export function checkResponseTarget(settings: Settings, client: Client, parameters: Form): ResponseTarget {
  const redirectUri = checkRedirectUri(client, parameters);
  const mode = parameters.get("response_mode");
  const state = parameters.get("state");
  return {
    redirectUri,
    ...readMode(mode, signsMessages(settings, client)),
    state: state !== undefined && state.length <= stateCharacters ? state : undefined,
  };
}

export function checkResponseMode({ context, client, parameters }: CheckInput): void {
  const mode = parameters.get("response_mode");
  if (mode !== undefined && !isResponseMode(mode) && !isSignedMode(mode)) {
    throw new OAuthError("invalid_request", "response-mode-unknown", {
      description: "The response_mode is not supported.",
    });
  }
  if (mode !== undefined && !isSignedMode(mode) && signsMessages(context.settings, client)) {
    throw new OAuthError("invalid_request", "fapi-response-mode", {
      description: "The response_mode must be jwt or end in .jwt.",
    });
  }
  if ((parameters.get("state")?.length ?? 0) > stateCharacters) {
    throw new OAuthError("invalid_request", "state-too-long", { description: "The state is too long." });
  }
}

function readMode(mode: string | undefined, mustSign: boolean): Pick<ResponseTarget, "responseMode" | "isSigned"> {
  if (isSignedMode(mode)) return { responseMode: signedResponseModes[mode], isSigned: true };
  return { responseMode: isResponseMode(mode) ? mode : "query", isSigned: mustSign };
}

function isResponseMode(mode: string | undefined): mode is ResponseMode {
  return responseModes.some((known) => known === mode);
}

function isSignedMode(mode: string | undefined): mode is keyof typeof signedResponseModes {
  return mode !== undefined && Object.hasOwn(signedResponseModes, mode);
}
