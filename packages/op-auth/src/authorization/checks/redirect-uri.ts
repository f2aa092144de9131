import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { loggedUri } from "@edge-op/protocol/oauth/shown-value";
import type { Client, ClientMetadata } from "@edge-op/shared/clients/client";
import type { Form } from "@edge-op/shared/http/read-form";

/**
 * **`redirect_uri` must equal a registered one, byte for byte**, except for the port of a loopback address, which a native application cannot choose
 * in advance (RFC 8252 §7.3). For a native or a public client, `localhost` is a loopback address too: §8.3 advises against it, but common programs use
 * it, and register as web applications without a type. For any other redirect URI, the browser is not redirected.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */
export function checkRedirectUri(client: Client, parameters: Form): string {
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
