import { signingAlgorithms } from "@edge-op/shared/config/signing-algorithms";
import type { ClientMetadata } from "@edge-op/shared/directory/client";
import { clientAuthMethods } from "@edge-op/shared/oauth/client-auth-methods";
import { grantTypes, responseTypes } from "@edge-op/shared/oauth/grant-types";
import * as z from "zod";
import { mergePatchOf } from "../api/merge-patch.ts";
import { nextCursor, pageQuery } from "../api/paging.ts";
import { plainText } from "../api/plain-text.ts";
import { isUriWithoutFragment, isWebUri, isWebUriWithoutFragment } from "./client-uris.ts";
import { jwksSchema } from "./jwks-schema.ts";

/**
 * **The members of a client**, each by itself: RFC 7591 names, OIDC Registration's and ours. What members mean for one
 * another is in `client-rules.ts`, what is filled in when absent in `client-defaults.ts`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
export const clientIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;

const longestUri = 2048;
const mostValues = 100;

const webUri = z.string().max(longestUri).refine(isWebUri, "must be an https URL").meta({ format: "uri" });
const endpointUri = z
  .string()
  .max(longestUri)
  .refine(isWebUriWithoutFragment, "must be an https URL without fragment")
  .meta({ format: "uri" });
const redirectUri = z
  .string()
  .max(longestUri)
  .refine(isUriWithoutFragment, "must be an absolute URI without fragment")
  .meta({ format: "uri" });

const algorithm = z.enum(signingAlgorithms);

const scopeValue = z
  .string()
  .max(256)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope value of RFC 6749 §3.3");

const scope = z
  .string()
  .max(8192)
  .regex(
    /^$|^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    "must be scope values separated by single spaces",
  );

/** `"*"` means any, and says so alone. */
function policyList<T extends z.ZodType<string>>(value: T) {
  return z
    .array(value)
    .max(mostValues)
    .refine((list) => list.length === 1 || !list.some((item) => item === "*"), '"*" must stand alone');
}

const audience = z
  .string()
  .min(1)
  .max(longestUri)
  .regex(/^[\x21-\x7e]+$/, "must be a URI or a name without white space");
const resource = z
  .string()
  .max(longestUri)
  .refine((text) => text === "*" || isUriWithoutFragment(text), "must be an absolute URI without fragment");
const subject = plainText(255);

const policies = {
  token_exchange: z
    .strictObject({
      subject_clients: policyList(z.string().min(1).max(64)).describe("Clients whose tokens may be the subject token."),
      audiences: policyList(audience),
      resources: policyList(resource),
      scopes: policyList(scopeValue),
      modes: z
        .array(z.enum(["delegation", "impersonation"]))
        .min(1)
        .max(2),
    })
    .describe("What the client may exchange (RFC 8693); absent: nothing."),
  jwt_bearer: z
    .strictObject({ subjects: policyList(subject), scopes: policyList(scopeValue) })
    .describe("The users it may assert by a signed JWT (RFC 7523); absent: none."),
  introspection: z
    .strictObject({
      clients: policyList(z.string().min(1).max(64)).describe("Clients whose tokens it may introspect."),
      audiences: policyList(audience).describe("Audiences it stands for: it may introspect tokens that are for them."),
    })
    .partial()
    .refine(
      ({ clients, audiences }) => clients !== undefined || audiences !== undefined,
      "must have clients or audiences",
    )
    .describe("Tokens that it may introspect beside its own and those for its client_id; absent: no others."),
};

const metadataMembers = {
  client_name: plainText(200),
  client_uri: webUri,
  logo_uri: webUri,
  tos_uri: webUri,
  policy_uri: webUri,
  contacts: z.array(plainText(320)).max(20),
  application_type: z.enum(["web", "native"]),
  token_endpoint_auth_method: z.enum(clientAuthMethods),
  token_endpoint_auth_signing_alg: algorithm,
  grant_types: z.array(z.enum(grantTypes)).min(1).max(grantTypes.length),
  response_types: z.array(z.enum(responseTypes)).max(responseTypes.length),
  redirect_uris: z.array(redirectUri).max(mostValues),
  post_logout_redirect_uris: z.array(redirectUri).max(mostValues),
  scope: scope.describe("Scope values it may ask for, separated by spaces."),
  jwks: jwksSchema,
  jwks_uri: endpointUri,
  subject_type: z.enum(["public", "pairwise"]),
  sector_identifier_uri: endpointUri,
  default_max_age: z.int().min(0).max(31_536_000),
  require_auth_time: z.boolean(),
  default_acr_values: z.array(plainText(255)).max(mostValues),
  id_token_signed_response_alg: algorithm,
  userinfo_signed_response_alg: algorithm,
  introspection_signed_response_alg: algorithm,
  request_object_signing_alg: algorithm,
  require_signed_request_object: z.boolean(),
  require_pushed_authorization_requests: z.boolean(),
  backchannel_logout_uri: endpointUri,
  backchannel_logout_session_required: z.boolean(),
  access_token_signed_response_alg: algorithm,
  access_token_lifetime: z.int().min(1).max(86_400).describe("Seconds."),
  audiences: policyList(audience).describe("What its tokens may be for; the first is the default `aud`."),
  require_pkce: z.boolean().describe("False lets a confidential client leave PKCE out."),
  skip_consent: z.boolean().describe("Consent is taken as given where something assures who the client is."),
  ...policies,
} satisfies Record<keyof ClientMetadata, z.ZodType>;

/** Accepted by other providers, and without effect here: refused, so that nobody relies on it. */
const noFrontChannel = z.never({
  error: "is not supported: there is no front-channel logout; use backchannel_logout_uri",
});
const unsupportedMembers = {
  frontchannel_logout_uri: noFrontChannel,
  frontchannel_logout_session_required: noFrontChannel,
};

const writableMembers = { ...metadataMembers, ...unsupportedMembers };

/** A whole document, defaults filled in: what is stored. */
export const metadataSchema = z.strictObject(writableMembers).partial().required({
  token_endpoint_auth_method: true,
  grant_types: true,
  response_types: true,
  redirect_uris: true,
  scope: true,
  audiences: true,
});

const status = z.enum(["active", "disabled"]);

/** What an operator may write: metadata and whether the client is in use. */
export const writableClient = z.strictObject({ ...writableMembers, status }).partial();

export const clientCreateSchema = writableClient
  .extend({
    client_id: z
      .string()
      .regex(clientIdPattern, "must be 1 to 64 letters, digits, dots, hyphens, underscores or tildes")
      .optional()
      .describe("Chosen by the server unless given."),
  })
  .meta({ id: "ClientCreate" });

/** A patch may leave the status alone, or say which: removing it would quietly put a disabled client back into use. */
export const clientPatchSchema = mergePatchOf(writableClient)
  .extend({ status: status.optional() })
  .meta({ id: "ClientPatch" });

const issued = {
  client_id: z.string(),
  client_id_issued_at: z.int().describe("Seconds since the epoch."),
  updated_at: z.int().describe("Seconds since the epoch."),
};

export const clientSchema = metadataSchema.extend({ ...issued, status }).meta({ id: "Client" });

export const createdClientSchema = clientSchema
  .extend({
    client_secret: z.string().optional().describe("Shown this once; absent for clients that have none."),
    client_secret_expires_at: z.int().optional().describe("0: it does not expire (RFC 7591 §3.2.1)."),
  })
  .meta({ id: "CreatedClient" });

export const clientListSchema = z
  .strictObject({ clients: z.array(clientSchema), next_cursor: nextCursor })
  .meta({ id: "ClientList" });

export const clientListQuery = pageQuery.extend({ status: status.optional() });

export type ClientDocument = z.output<typeof metadataSchema>;
export type WritableClient = z.output<typeof writableClient>;
