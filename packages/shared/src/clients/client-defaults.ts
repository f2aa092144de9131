import type { JsonObject } from "@edge-op/protocol/encoding/json-object";

/**
 * **Default client metadata**: those of RFC 7591, and least privilege for the extensions. They are filled in when a client is
 * written, so that a later default changes no registered client.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export function withDefaults(document: JsonObject): JsonObject {
  const grantTypes = document.grant_types ?? ["authorization_code"];
  const code = Array.isArray(grantTypes) && grantTypes.includes("authorization_code");
  return {
    application_type: "web",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: grantTypes,
    response_types: code ? ["code"] : [],
    redirect_uris: [],
    scope: code ? "openid" : "",
    audiences: [],
    ...document,
  };
}
