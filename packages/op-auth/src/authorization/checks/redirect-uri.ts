import type { Client } from "@edge-op/shared/directory/client";
import type { Form } from "@edge-op/shared/http/read-form";
import { OAuthError } from "@edge-op/shared/oauth/errors";

/**
 * **`redirect_uri` is one of the registered ones, byte for byte**; only the port of a loopback address may differ, which a
 * native application cannot choose beforehand (RFC 8252 §7.3). Otherwise nobody is redirected.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */
export function checkRedirectUri(client: Client, parameters: Form): string {
  const given = parameters.require("redirect_uri");
  if (!client.metadata.redirect_uris.some((registered) => isSameRedirectUri(registered, given))) {
    throw new OAuthError("invalid_request", "redirect_uri is not registered", {
      description: "The redirect_uri is not registered for this client.",
    });
  }
  return given;
}

const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/[^#]*)?$/;

export function isSameRedirectUri(registered: string, given: string): boolean {
  if (registered === given) return true;
  // A port beyond 65535 matches the pattern and is no address: nothing could be sent there.
  if (!URL.canParse(given)) return false;
  const left = loopback.exec(registered);
  const right = loopback.exec(given);
  return left !== null && right !== null && left[1] === right[1] && left[2] === right[2];
}
