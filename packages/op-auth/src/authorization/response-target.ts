import { loggedUri, OAuthError } from "@edge-op/protocol/oauth/errors";
import type { Client, ClientMetadata } from "@edge-op/shared/clients/client";
import { signsMessages } from "@edge-op/shared/clients/security-profile";
import type { Settings } from "@edge-op/shared/config/settings";
import type { Form } from "@edge-op/shared/http/read-form";
import {
  type CheckInput,
  type ResponseMode,
  type ResponseTarget,
  responseModes,
  signedResponseModes,
} from "./authorization-request.ts";

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

/**
 * **`redirect_uri` must equal a registered one, byte for byte**, except for the port of a loopback address, which a native application cannot choose
 * in advance (RFC 8252 §7.3). For a native or a public client, `localhost` is a loopback address too: §8.3 advises against it, but common programs
 * use it, and register as web applications without a type. For any other redirect URI, the browser is not redirected.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */
function checkRedirectUri(client: Client, parameters: Form): string {
  const given = parameters.require("redirect_uri");
  if (!isRegisteredRedirectUri(client.metadata, given)) {
    throw new OAuthError("invalid_request", "redirect-uri-not-registered", {
      detail: describeUnregistered("redirect_uri", given, client.metadata.redirect_uris),
      description: "The redirect_uri is not registered for this client.",
    });
  }
  return given;
}

const longestList = 10;

/** The sent and the registered URIs, for the log. */
export function describeUnregistered(parameter: string, sent: string, registered: readonly string[] = []): string {
  const further = registered.length > longestList ? [`and ${registered.length - longestList} more`] : [];
  const listed = [...registered.slice(0, longestList).map(loggedUri), ...further].join(", ");
  return `${parameter} ${loggedUri(sent)}; registered: ${listed || "none"}`;
}

const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/[^#]*)?$/;
const namedLoopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(\/[^#]*)?$/;

export function isRegisteredRedirectUri(
  {
    redirect_uris: registered,
    application_type: type,
    token_endpoint_auth_method: method,
  }: Pick<ClientMetadata, "redirect_uris" | "application_type" | "token_endpoint_auth_method">,
  given: string,
): boolean {
  const ofAnyPort = type === "native" || method === "none" ? namedLoopback : loopback;
  return registered.some((uri) => uri === given || differsInPortOnly(uri, given, ofAnyPort));
}

function differsInPortOnly(registered: string, given: string, ofAnyPort: RegExp): boolean {
  // A port above 65535 matches the pattern but is not valid.
  if (!URL.canParse(given)) return false;
  const left = ofAnyPort.exec(registered);
  const right = ofAnyPort.exec(given);
  return left !== null && right !== null && left[1] === right[1] && left[2] === right[2];
}
