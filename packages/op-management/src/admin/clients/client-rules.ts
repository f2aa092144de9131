import { sectorHost } from "@edge-op/shared/directory/pairwise-subject";
import { refuseClientUrl } from "@edge-op/shared/http/client-url";
import type { FieldError, OAuthErrorCode } from "@edge-op/shared/oauth/errors";
import type { ClientDocument } from "./client-schema.ts";
import { redirectUriFault } from "./client-uris.ts";

/**
 * **What the members of a client mean for one another.** Pure: a whole document in, every fault out. One rule a function.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 */
type Rule = (client: ClientDocument, issuer: string) => FieldError[];

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";

function hasKeys(client: ClientDocument): boolean {
  return client.jwks !== undefined || client.jwks_uri !== undefined;
}

const redirectUris: Rule = (client) => {
  const type = client.application_type ?? "web";
  const needed = client.grant_types.includes("authorization_code") && client.redirect_uris.length === 0;
  const faults = (name: "redirect_uris" | "post_logout_redirect_uris") =>
    (client[name] ?? []).flatMap((uri, index) => {
      const message = redirectUriFault(uri, type);
      return message === undefined ? [] : [{ path: `${name}[${index}]`, message }];
    });
  return [
    ...fault(needed, "redirect_uris", "is required for the grant type authorization_code"),
    ...faults("redirect_uris"),
    ...faults("post_logout_redirect_uris"),
  ];
};

/** RFC 7591 §2.1: `code` and `authorization_code` go together. */
const responseTypes: Rule = ({ grant_types, response_types }) => {
  const code = grant_types.includes("authorization_code");
  return [
    ...fault(
      code && response_types.length === 0,
      "response_types",
      "must hold code for the grant type authorization_code",
    ),
    ...fault(!code && response_types.length > 0, "response_types", "needs the grant type authorization_code"),
  ];
};

/** A client that cannot prove who it is gets no grant that rests on that proof alone. */
const publicClients: Rule = (client) => {
  if (client.token_endpoint_auth_method !== "none") return [];
  const refused = client.grant_types.filter(
    (grant) => grant === "client_credentials" || grant === tokenExchange || grant === jwtBearer,
  );
  return [
    ...fault(refused.length > 0, "grant_types", `${refused.join(", ")} needs a client that authenticates`),
    ...fault(client.require_pkce === false, "require_pkce", "must not be false for a client without authentication"),
    ...fault(client.introspection !== undefined, "introspection", "needs a client that authenticates"),
  ];
};

const keys: Rule = (client) => {
  const both = client.jwks !== undefined && client.jwks_uri !== undefined;
  const none = !hasKeys(client);
  return [
    ...fault(both, "jwks_uri", "must not be given together with jwks"),
    ...fault(
      none && client.token_endpoint_auth_method === "private_key_jwt",
      "jwks",
      "jwks or jwks_uri is required for private_key_jwt",
    ),
    ...fault(none && client.grant_types.includes(jwtBearer), "jwks", `jwks or jwks_uri is required for ${jwtBearer}`),
    ...fault(
      none && (client.require_signed_request_object === true || client.request_object_signing_alg !== undefined),
      "jwks",
      "jwks or jwks_uri is required for signed request objects",
    ),
  ];
};

/** OIDC Core §8.1: without a sector identifier, the redirect URIs are all of one https host, or none is: the client is a sector of its own then. */
const pairwise: Rule = (client) => {
  if (client.subject_type !== "pairwise" || client.sector_identifier_uri !== undefined) return [];
  return fault(
    new Set(client.redirect_uris.map(sectorHost)).size > 1,
    "sector_identifier_uri",
    "is required for pairwise subjects unless all redirect_uris are https with one host, or none is https with a host of its own",
  );
};

/** RFC 9700 §4.11: what this provider will fetch is refused when it is registered, not only when it is fetched. */
const fetchedUris: Rule = (client, issuer) =>
  (["jwks_uri", "sector_identifier_uri", "backchannel_logout_uri"] as const).flatMap((name) => {
    const uri = client[name];
    const refusal = uri === undefined ? undefined : refuseClientUrl(uri, issuer);
    return fault(refusal !== undefined, name, `must be https on a public host: it is ${refusal}`);
  });

/** A repeated value is a mistake somewhere; a set is what every reader takes it for. */
const repeats: Rule = (client) =>
  (["grant_types", "redirect_uris", "audiences", "post_logout_redirect_uris"] as const).flatMap((name) => {
    const values = client[name] ?? [];
    return fault(new Set(values).size !== values.length, name, "must not repeat a value");
  });

const rules: readonly Rule[] = [redirectUris, responseTypes, publicClients, keys, pairwise, fetchedUris, repeats];

export function clientFaults(client: ClientDocument, issuer: string): FieldError[] {
  return rules.flatMap((rule) => rule(client, issuer));
}

/** @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2 */
export function clientErrorCode(fields: readonly FieldError[]): OAuthErrorCode {
  return fields[0]?.path.startsWith("redirect_uris") ? "invalid_redirect_uri" : "invalid_client_metadata";
}
