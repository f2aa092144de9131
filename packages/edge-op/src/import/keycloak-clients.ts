import { compact, type Json, objectOf, type SourceClient, textOf, wordOf } from "./source-user.ts";

const ownClients = ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

/** Exports without secrets have this in their place. */
const masked = /^\*+$/;

/** **A client of a realm export.** Those of Keycloak itself, and those that are none of OpenID Connect, are left out. */
export function toKeycloakClient(client: Json): SourceClient {
  const reason = reasonAgainst(client);
  if (reason !== undefined) return { client: { client_id: client["clientId"] }, leftOut: [], reason };
  const attributes = objectOf(client["attributes"]);
  const isPublic = client["publicClient"] === true;
  const usesSecret = !isPublic && client["clientAuthenticatorType"] === "client-secret";
  const secret = textOf(client["secret"]);
  const isMasked = secret !== undefined && masked.test(secret);
  const isStandard = client["standardFlowEnabled"] === true;
  const grants = [
    ...(isStandard ? ["authorization_code", "refresh_token"] : []),
    ...(client["serviceAccountsEnabled"] === true ? ["client_credentials"] : []),
  ];
  const scopes = [client["defaultClientScopes"], client["optionalClientScopes"]].flat().map(wordOf);
  const known = ["openid", "profile", "email", "address", "phone", "offline_access"];
  const scope = ["openid", ...scopes].filter(
    (value, index, all) => known.includes(value) && all.indexOf(value) === index,
  );
  const leftOut = [
    ...(client["implicitFlowEnabled"] === true ? ["implicit flow"] : []),
    ...(client["directAccessGrantsEnabled"] === true ? ["direct access grants"] : []),
    ...(usesSecret && (isMasked || secret === undefined)
      ? ["the secret, which the file does not have: a new one"]
      : []),
  ];
  return {
    client: compact({
      client_id: client["clientId"],
      client_name: textOf(client["name"]) ?? client["clientId"],
      status: client["enabled"] === false ? "disabled" : "active",
      token_endpoint_auth_method: isPublic ? "none" : usesSecret ? "client_secret_basic" : "private_key_jwt",
      client_secret: usesSecret && !isMasked ? secret : undefined,
      jwks_uri: isPublic || usesSecret ? undefined : textOf(attributes["jwks.url"]),
      redirect_uris: isStandard ? client["redirectUris"] : [],
      post_logout_redirect_uris: textOf(attributes["post.logout.redirect.uris"])
        ?.split("##")
        .filter((uri) => uri !== "+" && uri !== "-"),
      grant_types: grants,
      scope: isStandard ? scope.join(" ") : undefined,
    }),
    leftOut,
  };
}

function reasonAgainst(client: Json): string | undefined {
  const protocol = client["protocol"];
  if (ownClients.includes(wordOf(client["clientId"]))) return "client of Keycloak itself";
  if (client["bearerOnly"] === true) return "bearer-only client: register a resource server";
  if (protocol === "saml") return "SAML client: there is no SAML here";
  return protocol === undefined || protocol === "openid-connect" ? undefined : `protocol ${wordOf(protocol)}`;
}
