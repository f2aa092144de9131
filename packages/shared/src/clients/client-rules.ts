/**
 * **Rules between the members of a client.** Pure: they read a whole document and return every fault. A rule names the members that it reads, and is
 * skipped when one of them is invalid by itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2.1
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 */

import { isEncryptionKey } from "@edge-op/protocol/jwt/encryption-algorithms";
import type { FieldError, OAuthErrorCode } from "@edge-op/protocol/oauth/errors";
import {
  describeGrantType,
  type GrantType,
  grantTypes,
  isPublicMethod,
  usesKey,
} from "@edge-op/protocol/oauth/registered-names";
import { redirectUriFault } from "@edge-op/protocol/oauth/uris";
import { refreshGraceLimits, type Settings } from "../config/settings.ts";
import { refuseClientUrl } from "../http/client-url.ts";
import type { ClientMetadata } from "./client.ts";
import { sectorHost } from "./pairwise-subject.ts";
import { profileFaults } from "./security-profile.ts";

type Member = keyof ClientMetadata;

/** The settings that rules depend on. */
export type RuleSettings = Pick<Settings, "issuer" | "privateUseSchemes">;

interface Rule {
  readonly reads: readonly Member[];
  find(client: ClientMetadata, settings: RuleSettings): FieldError[];
}

/** Type-checks that the rule reads only the members that it names. */
function rule<Name extends Member>(
  reads: readonly Name[],
  find: (client: Pick<ClientMetadata, Name>, settings: RuleSettings) => FieldError[],
): Rule {
  return { reads, find };
}

function fault(broken: boolean, path: string, message: string): FieldError[] {
  return broken ? [{ path, message }] : [];
}

function redirectingGrants(types: readonly GrantType[]): readonly GrantType[] {
  return types.filter((type) => describeGrantType(type).responseType !== undefined);
}

function hasKeys(client: Pick<ClientMetadata, "jwks" | "jwks_uri">): boolean {
  return client.jwks !== undefined || client.jwks_uri !== undefined;
}

const neededRedirectUri = rule(["grant_types", "redirect_uris"], ({ grant_types, redirect_uris }) =>
  redirect_uris.length > 0
    ? []
    : redirectingGrants(grant_types).map((grant) => ({
        path: "redirect_uris",
        message: `is required for the grant type ${grant}`,
      })),
);

const redirectUris = (["redirect_uris", "post_logout_redirect_uris"] as const).map((name) =>
  rule([name, "application_type"], (client, { privateUseSchemes }) =>
    (client[name] ?? []).flatMap((uri, index) => {
      const message = redirectUriFault(uri, client.application_type ?? "web", privateUseSchemes);
      return message === undefined ? [] : [{ path: `${name}[${index}]`, message }];
    }),
  ),
);

/** RFC 7591 §2.1: a response type and its grant type belong together, `code` and `authorization_code`. */
const matchingResponseTypes = rule(["grant_types", "response_types"], ({ grant_types, response_types }) =>
  grantTypes.flatMap((grant) => {
    const { responseType } = describeGrantType(grant);
    if (responseType === undefined || grant_types.includes(grant) === response_types.includes(responseType)) return [];
    const message = grant_types.includes(grant)
      ? `must contain ${responseType} for the grant type ${grant}`
      : `requires the grant type ${grant}`;
    return [{ path: "response_types", message }];
  }),
);

/** Whether a grant type's requirement applies to a client: always, or only with a policy that the client lacks. */
function isRequired(grant: GrantType, client: Pick<ClientMetadata, "jwt_bearer">): boolean {
  return describeGrantType(grant).byPolicy !== true || client.jwt_bearer !== undefined;
}

/** A public client may not register a grant that depends on client authentication alone. */
const publicClients: readonly Rule[] = [
  rule(["token_endpoint_auth_method", "grant_types", "jwt_bearer"], (client) => {
    const refused = client.grant_types.filter(
      (grant) => describeGrantType(grant).confidentialOnly && isRequired(grant, client),
    );
    const broken = isPublicMethod(client.token_endpoint_auth_method) && refused.length > 0;
    return fault(broken, "grant_types", `${refused.join(", ")} requires a client that authenticates`);
  }),
  rule(["token_endpoint_auth_method", "require_pkce"], ({ token_endpoint_auth_method: method, require_pkce }) => {
    const broken = isPublicMethod(method) && require_pkce === false;
    return fault(broken, "require_pkce", "must not be false for a client without authentication");
  }),
  rule(["token_endpoint_auth_method", "introspection"], ({ token_endpoint_auth_method: method, introspection }) =>
    fault(
      isPublicMethod(method) && introspection !== undefined,
      "introspection",
      "requires a client that authenticates",
    ),
  ),
];

/**
 * The grace of a client whose refresh tokens are useless to a thief without its credential or key may be longer. It ends before the access token that
 * comes with the successor, because nobody needs the successor before, and a use of it ends the grace (protocols §3).
 */
const refreshGrace: readonly Rule[] = [
  rule(
    [
      ...(["refresh_token_grace", "token_endpoint_auth_method", "dpop_bound_access_tokens"] as const),
      "tls_client_certificate_bound_access_tokens",
    ],
    (client) => {
      const isProtected =
        !isPublicMethod(client.token_endpoint_auth_method) ||
        client.dpop_bound_access_tokens === true ||
        client.tls_client_certificate_bound_access_tokens === true;
      const isLong = (client.refresh_token_grace ?? 0) > refreshGraceLimits.anySeconds;
      const message = `must be at most ${refreshGraceLimits.anySeconds} for a client that neither authenticates nor has bound tokens`;
      return fault(isLong && !isProtected, "refresh_token_grace", message);
    },
  ),
  rule(
    ["refresh_token_grace", "access_token_lifetime"],
    ({ refresh_token_grace: grace, access_token_lifetime: seconds }) =>
      fault(
        grace !== undefined && grace > (seconds ?? Number.POSITIVE_INFINITY),
        "refresh_token_grace",
        "must not be longer than access_token_lifetime",
      ),
  ),
];

const keys: readonly Rule[] = [
  rule(["jwks", "jwks_uri"], ({ jwks, jwks_uri }) =>
    fault(jwks !== undefined && jwks_uri !== undefined, "jwks_uri", "must not be given together with jwks"),
  ),
  rule(["jwks", "jwks_uri", "token_endpoint_auth_method"], (client) => {
    const { token_endpoint_auth_method: method } = client;
    return fault(!hasKeys(client) && usesKey(method), "jwks", `jwks or jwks_uri is required for ${method}`);
  }),
  rule(["jwks", "jwks_uri", "grant_types", "jwt_bearer"], (client) => {
    const signed = client.grant_types.filter(
      (grant) => describeGrantType(grant).needsKeys && isRequired(grant, client),
    );
    return fault(
      !hasKeys(client) && signed.length > 0,
      "jwks",
      `jwks or jwks_uri is required for ${signed.join(", ")}`,
    );
  }),
  rule(["jwks", "jwks_uri", "require_signed_request_object", "request_object_signing_alg"], (client) => {
    const isSigned = client.require_signed_request_object === true || client.request_object_signing_alg !== undefined;
    return fault(!hasKeys(client) && isSigned, "jwks", "jwks or jwks_uri is required for signed request objects");
  }),
];

/** OIDC Registration §2, JARM §3: `enc` belongs to an `alg`, and responses are encrypted with a key of the client. */
const encryption = (["id_token", "userinfo", "authorization"] as const).map((purpose) => {
  const [algName, encName] = [`${purpose}_encrypted_response_alg`, `${purpose}_encrypted_response_enc`] as const;
  return rule([algName, encName, "jwks", "jwks_uri"], (client) => {
    const alg = client[algName];
    if (alg === undefined) return fault(client[encName] !== undefined, encName, `requires ${algName}`);
    const hasKey = client.jwks_uri !== undefined || client.jwks?.keys.some((key) => isEncryptionKey(key, alg)) === true;
    return fault(!hasKey, "jwks", `must have a key for ${alg}, or jwks_uri is required, for ${algName}`);
  });
});

/** OIDC Registration §2: `enc` belongs to an `alg`. An encrypted request object is signed, too (RFC 9101 §4). */
const requestObjectEncryption: readonly Rule[] = [
  rule(["request_object_encryption_alg", "request_object_encryption_enc"], (client) => {
    const { request_object_encryption_alg: alg, request_object_encryption_enc: enc } = client;
    return fault(
      alg === undefined && enc !== undefined,
      "request_object_encryption_enc",
      "requires request_object_encryption_alg",
    );
  }),
  rule(["request_object_encryption_alg", "jwks", "jwks_uri"], (client) => {
    const isUnsigned = client.request_object_encryption_alg !== undefined && !hasKeys(client);
    return fault(isUnsigned, "jwks", "jwks or jwks_uri is required to sign request objects that are encrypted");
  }),
];

const certificateNames = [
  "tls_client_auth_subject_dn",
  "tls_client_auth_san_dns",
  "tls_client_auth_san_uri",
  "tls_client_auth_san_ip",
  "tls_client_auth_san_email",
] as const;

/** RFC 8705 §2.1.2: exactly one name for `tls_client_auth`; §2.2.2: the certificate in the key set for the self-signed form. */
const certificates: readonly Rule[] = [
  rule(["token_endpoint_auth_method", ...certificateNames], (client) => {
    const given = certificateNames.filter((name) => client[name] !== undefined);
    const needed = client.token_endpoint_auth_method === "tls_client_auth" ? 1 : 0;
    if (given.length === needed) return [];
    const message =
      needed === 1 ? `exactly one of ${certificateNames.join(", ")} is required` : "is only for tls_client_auth";
    return [{ path: given[0] ?? certificateNames[0], message }];
  }),
  rule(["token_endpoint_auth_method", "jwks", "jwks_uri"], (client) => {
    if (client.token_endpoint_auth_method !== "self_signed_tls_client_auth" || client.jwks_uri !== undefined) return [];
    const hasCertificate = client.jwks?.keys.some(({ x5c }) => x5c !== undefined) ?? false;
    return fault(!hasCertificate, "jwks", "must have a key with x5c, or jwks_uri is required");
  }),
];

/** A client that names its profile must meet it; one that has the deployment's is checked when it authenticates. */
const securityProfile: Rule = {
  reads: [
    ...([
      "security_profile",
      "token_endpoint_auth_method",
      "application_type",
      "redirect_uris",
      "require_pkce",
    ] as const),
    ...(["token_endpoint_auth_signing_alg", "request_object_signing_alg", "id_token_signed_response_alg"] as const),
    ...(["userinfo_signed_response_alg", "introspection_signed_response_alg"] as const),
    "authorization_signed_response_alg" as const,
    ...(["access_token_signed_response_alg", "jwks", "jwks_uri"] as const),
  ],
  find: (client) => [...profileFaults(client, client.security_profile ?? "none")],
};

/** OIDC Core §8.1: without a sector identifier, the redirect URIs are all of one https host, or none is, and the client is its own sector. */
const pairwise = rule(["subject_type", "sector_identifier_uri", "redirect_uris"], (client) => {
  if (client.subject_type !== "pairwise" || client.sector_identifier_uri !== undefined) return [];
  return fault(
    new Set(client.redirect_uris.map(sectorHost)).size > 1,
    "sector_identifier_uri",
    "is required for pairwise subjects unless all redirect_uris are https with one host, or none is https with a host of its own",
  );
});

/** OIDC Front-Channel Logout §2: it must have the origin of a redirection URI, so that a client cannot make browsers load another site. */
const frontChannel = rule(["frontchannel_logout_uri", "redirect_uris"], (client) => {
  const { frontchannel_logout_uri: uri, redirect_uris: redirectUris } = client;
  const isOwn = uri === undefined || redirectUris.some((each) => new URL(each).origin === new URL(uri).origin);
  return fault(!isOwn, "frontchannel_logout_uri", "must have the scheme, host and port of a redirect URI");
});

/** RFC 9700 §4.11: a URL that this provider will fetch is checked when it is registered as well as when it is fetched. */
const fetchedUris = (["jwks_uri", "sector_identifier_uri", "backchannel_logout_uri"] as const).map((name) =>
  rule([name], (client, { issuer }) => {
    const uri = client[name];
    const refusal = uri === undefined ? undefined : refuseClientUrl(uri, issuer);
    return fault(refusal !== undefined, name, `must be https on a public host: it is ${refusal}`);
  }),
);

/** These lists are sets: a repeated value is a mistake. */
const repeats = (["grant_types", "redirect_uris", "audiences", "post_logout_redirect_uris"] as const).map((name) =>
  rule([name], (client) => {
    const values = client[name] ?? [];
    return fault(new Set(values).size !== values.length, name, "must not repeat a value");
  }),
);

const rules: readonly Rule[] = [
  neededRedirectUri,
  ...redirectUris,
  matchingResponseTypes,
  ...publicClients,
  ...refreshGrace,
  ...keys,
  ...encryption,
  ...requestObjectEncryption,
  ...certificates,
  securityProfile,
  pairwise,
  frontChannel,
  ...fetchedUris,
  ...repeats,
];

/** `wrong` lists the members that are invalid by themselves. */
export function clientFaults(client: ClientMetadata, settings: RuleSettings, wrong: ReadonlySet<string>): FieldError[] {
  return rules
    .filter(({ reads }) => !reads.some((member) => wrong.has(member)))
    .flatMap(({ find }) => find(client, settings));
}

/** @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.2 */
export function clientErrorCode(fields: readonly FieldError[]): OAuthErrorCode {
  return fields[0]?.path.startsWith("redirect_uris") ? "invalid_redirect_uri" : "invalid_client_metadata";
}
