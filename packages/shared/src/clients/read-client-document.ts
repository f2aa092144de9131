import { type JsonObject, parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isWebUri } from "@edge-op/protocol/oauth/uris";
import { log } from "../runtime/log.ts";
import type { DocumentRefusal } from "../storage/fetched-documents.ts";
import { findDocumentFaults, requireDocument } from "./checked-metadata.ts";
import type { ClientMetadata } from "./client.ts";
import type { RuleSettings } from "./client-rules.ts";
import { metadataChoices } from "./metadata-choices.ts";
import { givenMembers, ownMetadata } from "./own-metadata.ts";

/** The members that a client may set for itself, beside its method. */
const readMembers = [
  "client_name",
  "client_uri",
  "logo_uri",
  "tos_uri",
  "policy_uri",
  "initiate_login_uri",
  "application_type",
  "redirect_uris",
  "post_logout_redirect_uris",
  "token_endpoint_auth_signing_alg",
  "jwks",
  "jwks_uri",
  "grant_types",
  "response_types",
  "id_token_signed_response_alg",
  "dpop_bound_access_tokens",
  "require_pushed_authorization_requests",
] as const;
const readLists = Object.keys(metadataChoices).filter((list) =>
  readMembers.some((name) => name === metadataChoices[list]?.member),
);

/** Links and a picture for people; an invalid one is dropped. */
const linkMembers = ["client_uri", "logo_uri", "tos_uri", "policy_uri"] as const;
const documentGrants = ["authorization_code", "refresh_token"];
const documentMethods: readonly unknown[] = ["none", "private_key_jwt"];
const methodList = "token_endpoint_auth_methods_supported";

/** **Reads a client ID metadata document**: the metadata of its client, or why it is refused (metadata-documents.ts). */
export async function readClientDocument(
  body: string,
  url: string,
  settings: RuleSettings,
): Promise<ClientMetadata | DocumentRefusal> {
  const parsed = parseJsonObject(body);
  if (parsed === undefined) return { refused: "no JSON object" };
  const document = givenMembers(parsed);
  if (document["client_id"] !== url) return { refused: "client_id is not the URL" };
  if (document["client_secret"] !== undefined || document["client_secret_expires_at"] !== undefined) {
    return { refused: "a shared secret" };
  }
  const methods = readMethods(document);
  if (methods === undefined) return { refused: "token_endpoint_auth_method" };
  const { metadata, dropped } = ownMetadata({ ...pick(document), ...methods }, settings);
  const [fault] = await findDocumentFaults(metadata, settings);
  if (fault !== undefined) return { refused: `${fault.path}: ${fault.message}` };
  if (dropped.length > 0) log("client-metadata-dropped", { clientId: url, dropped, requestId: undefined });
  return requireDocument(metadata, settings);
}

/** The preferred method or, if a document cannot have it, those that the client supports besides (RP Metadata Choices 1.0 §4). */
function readMethods(document: JsonObject): JsonObject | undefined {
  const { token_endpoint_auth_method: preferred, [methodList]: listed } = document;
  const isAllowed = (method: unknown) => documentMethods.includes(method);
  if (isAllowed(preferred)) return { token_endpoint_auth_method: preferred };
  const others = Array.isArray(listed) ? listed.filter(isAllowed) : [];
  if (others.length > 0) return { [methodList]: others };
  return preferred === undefined && listed === undefined ? { token_endpoint_auth_method: "none" } : undefined;
}

function pick(document: JsonObject): JsonObject {
  const picked: Record<string, unknown> = {};
  for (const name of [...readMembers, ...readLists]) if (document[name] !== undefined) picked[name] = document[name];
  for (const name of linkMembers) {
    const link = picked[name];
    if (typeof link !== "string" || !isWebUri(link)) delete picked[name];
  }
  const grants = document["grant_types"] ?? ["authorization_code"];
  return {
    ...picked,
    application_type: picked["application_type"] ?? inferType(document["redirect_uris"]),
    grant_types: Array.isArray(grants) ? documentGrants.filter((grant) => grants.includes(grant)) : grants,
    response_types: ["code"],
    scope: document["scope"],
  };
}

/**
 * The application type, which documents rarely contain. A native application has a redirect URI that is not https, on any port of a loopback address
 * (RFC 8252 §7.3).
 */
function inferType(redirectUris: unknown): "native" | "web" {
  const isOther = (uri: unknown) => typeof uri === "string" && !uri.startsWith("https:");
  return Array.isArray(redirectUris) && redirectUris.some(isOther) ? "native" : "web";
}
