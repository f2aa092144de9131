import { encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { canonicalJson } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { ClientMetadata } from "@edge-op/shared/clients/client";
import { clientErrorCode } from "@edge-op/shared/clients/client-rules";
import { metadataChoices } from "@edge-op/shared/clients/metadata-choices";
import { givenMembers, ownMetadata } from "@edge-op/shared/clients/own-metadata";
import { limits } from "@edge-op/shared/config/limits";
import type { Settings } from "@edge-op/shared/config/settings";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { clients, type StoredClient } from "./client-table.ts";

const ownMembers = [
  ...["client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri", "contacts", "application_type"],
  ...["redirect_uris", "post_logout_redirect_uris", "token_endpoint_auth_method", "token_endpoint_auth_signing_alg"],
  ...["jwks", "jwks_uri", "subject_type", "sector_identifier_uri", "default_max_age", "require_auth_time"],
  ...["default_acr_values", "id_token_signed_response_alg", "id_token_claims", "userinfo_signed_response_alg"],
  ...["id_token_encrypted_response_alg", "id_token_encrypted_response_enc"],
  ...["userinfo_encrypted_response_alg", "userinfo_encrypted_response_enc", "authorization_signed_response_alg"],
  ...["authorization_encrypted_response_alg", "authorization_encrypted_response_enc"],
  ...["request_object_encryption_alg", "request_object_encryption_enc"],
  ...["request_object_signing_alg", "require_signed_request_object", "require_pushed_authorization_requests"],
  ...["introspection_signed_response_alg", "initiate_login_uri"],
  ...["backchannel_logout_uri", "backchannel_logout_session_required"],
  ...["frontchannel_logout_uri", "frontchannel_logout_session_required"],
  ...["dpop_bound_access_tokens", "tls_client_certificate_bound_access_tokens"],
] as const;

const ownGrants = ["authorization_code", "refresh_token"];
const ownMethods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

const methodList = "token_endpoint_auth_methods_supported";
/** RP Metadata Choices 1.0 §2: several values, of which one is registered (metadata-choices.ts). */
const lists = Object.keys(metadataChoices);

/**
 * **Selects the members that a client may set when it registers itself**: those of RFC 7591 and OpenID Connect Registration. Members that only an
 * administrator grants (audiences, policies, `skip_consent`) and unknown ones are ignored, as RFC 7591 §2 requires; grants, response types and scopes
 * are limited to those of a client that acts for users (own-metadata.ts). The rules of the admin API apply afterwards. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.1
 */
export function selfRegistration(
  document: unknown,
  settings: Pick<Settings, "privateUseSchemes">,
): ReturnType<typeof ownMetadata> {
  if (!isJsonObject(document)) throw invalidFields([{ path: "", message: "must be an object" }], clientErrorCode);
  const body = givenMembers(document);
  const named = [...ownMembers, ...lists].filter((name) => isGiven(body[name]));
  const picked = Object.fromEntries(named.map((name) => [name, body[name]]));
  return ownMetadata({ ...picked, ...ownMethod(body), ...ownTypes(body), scope: body["scope"] }, settings);
}

/** The methods among those that a client may choose for itself. */
function ownMethod({ token_endpoint_auth_method: method, [methodList]: listed }: JsonObject): JsonObject {
  if (Array.isArray(listed)) {
    const allowed = { [methodList]: listed.filter((each) => isOneOf(ownMethods, each)) };
    return isOneOf(ownMethods, method) ? allowed : { ...allowed, token_endpoint_auth_method: undefined };
  }
  if (!isGiven(method) || isOneOf(ownMethods, method)) return {};
  const message = `must be one of ${ownMethods.join(", ")}`;
  throw invalidFields([{ path: "token_endpoint_auth_method", message }], clientErrorCode);
}

/** Rules that an administrator has set for a registered client. A replacement does not remove them. */
const imposedMembers = [
  ...(["security_profile", "dpop_nonce_required", "access_token_lifetime", "refresh_token_grace"] as const),
] as const;

export function imposedOn(known: Readonly<Partial<Record<(typeof imposedMembers)[number], unknown>>>): JsonObject {
  return Object.fromEntries(imposedMembers.flatMap((name) => (isGiven(known[name]) ? [[name, known[name]]] : [])));
}

/**
 * The members of a request that the response lacks, or contains with another value. RFC 7591 §2 requires that they are ignored; a client should not
 * have to compare both to find them. A key set may lose unknown members of its keys.
 */
export function ignoredMembers(body: unknown, response: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(isJsonObject(body) ? body : {})
    .filter(([name, value]) => {
      // RFC 7592 §2.2: a replacement may name the secret.
      if (!isGiven(value) || name === "client_secret" || lists.includes(name)) return false;
      const registered = response[name];
      return name === "jwks" ? registered === undefined : canonicalJson(registered ?? null) !== canonicalJson(value);
    })
    .map(([name]) => name);
}

/** A member that is `null` or absent counts as omitted (RFC 7591 §3.1, RFC 7592 §2.2). */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A client may offer more grants than this provider supports (RFC 7591 §2); without a grant for users, it could not do anything. */
function ownTypes(body: JsonObject): JsonObject {
  const asked = body["grant_types"] ?? ["authorization_code"];
  const grants = Array.isArray(asked) ? [...new Set<unknown>(asked)].filter((each) => isOneOf(ownGrants, each)) : [];
  if (grants.includes("authorization_code")) return { grant_types: grants, response_types: ["code"] };
  throw invalidFields([{ path: "grant_types", message: "must contain authorization_code" }], clientErrorCode);
}

function isOneOf(values: readonly string[], asked: unknown): asked is string {
  return values.some((value) => value === asked);
}

/**
 * **Limits for clients that register themselves** (ADR 47): a record of `limits.registrationBytes`, and `limits.unusedRegistrations` clients without
 * any consent yet. Further registrations are refused until older ones have expired (`CLIENT_UNUSED_LIFETIME`) or are in use; clients in use are not
 * limited.
 */
export function requireRegistrationSize(metadata: ClientMetadata): void {
  const bytes = encodeUtf8(JSON.stringify(metadata)).byteLength;
  if (bytes <= limits.registrationBytes) return;
  throw new OAuthError("invalid_client_metadata", "registration-too-large", {
    detail: `${bytes} bytes`,
    description: `The client metadata have ${bytes} bytes; a client that registers itself may have ${limits.registrationBytes}.`,
  });
}

type Lives = Pick<Settings, "clientUnusedSeconds">;

const unused = "origin = 'registration' AND used_at_ms IS NULL AND created_at_ms >";

function endedBefore({ clientUnusedSeconds }: Lives, atMs: number): number {
  return atMs - clientUnusedSeconds * 1000;
}

/** To be executed after the insertion: fails, together with its transaction, if there are too many. */
export function roomToRegister(
  database: D1Database,
  lives: Lives,
  { clientId, createdAtMs }: StoredClient,
): D1PreparedStatement {
  const condition = `(SELECT count(*) FROM clients WHERE ${unused} ?2) > ?3`;
  return clients.refuseIf(database, clientId, condition, endedBefore(lives, createdAtMs), limits.unusedRegistrations);
}

/** To be called after a failed insertion: refuses if the limit was the reason, and states until when. */
export async function requireRoomToRegister(database: D1Database, lives: Lives, atMs: number): Promise<void> {
  const since = endedBefore(lives, atMs);
  const row = await queryDatabase(() =>
    database
      .prepare(`SELECT count(*) AS clients, min(created_at_ms) AS oldest FROM clients WHERE ${unused} ?1`)
      .bind(since)
      .first<{ readonly clients: number; readonly oldest: number | null }>(),
  );
  if (row === null || row.oldest === null || row.clients < limits.unusedRegistrations) return;
  const seconds = Math.max(1, Math.ceil((row.oldest - since) / 1000));
  throw new OAuthError("rate_limited", "registrations-unused", {
    description: "Too many clients have registered themselves that nobody uses yet. Try again later.",
    headers: { "Retry-After": String(seconds) },
  });
}
