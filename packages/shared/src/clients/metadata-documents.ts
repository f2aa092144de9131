import { type JsonObject, parseJsonObject } from "@edge-op/protocol/encoding/json-object";
import { isWebUri } from "@edge-op/protocol/oauth/uris";
import { isolateMemory, limits } from "../config/limits.ts";
import { HostBudget } from "../http/host-budget.ts";
import { type DocumentRefusal, FetchedDocuments } from "../storage/fetched-documents.ts";
import { findDocumentFaults, requireDocument } from "./checked-metadata.ts";
import type { ClientMetadata } from "./client.ts";
import { ownScope } from "./client-defaults.ts";

/**
 * **Client ID Metadata Documents**: the metadata of an unregistered client, at the https URL that is its `client_id`. Drafts -00 (which MCP names)
 * and -02 are read alike: 5 KB, no redirects, `client_id` equal byte for byte, no shared secret. The rules of registered clients apply. Members that
 * only an administrator may set (audiences, policies, `skip_consent`) and unknown members are ignored.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00#section-4
 */
export function createClientDocuments(): FetchedDocuments<ClientMetadata> {
  return new FetchedDocuments<ClientMetadata>({
    name: "client metadata document",
    rules: { timeoutMs: limits.clientDocumentMs, bodyBytes: limits.clientDocumentBytes },
    content: "json",
    freshness: { leastSeconds: 60, usualSeconds: 3600, mostSeconds: 86_400 },
    staleSeconds: 3600,
    failureSeconds: 10,
    maxBytes: isolateMemory.clientDocuments,
    urlBytes: isolateMemory.clientDocumentUrls,
    hostBudget: new HostBudget({
      perMinute: limits.documentFetchesPerMinute,
      maxBytes: isolateMemory.hostBudgets / 4,
    }),
    read: readClientDocument,
  });
}

/** The members that a client may set for itself. */
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
  "token_endpoint_auth_method",
  "token_endpoint_auth_signing_alg",
  "jwks",
  "jwks_uri",
  "grant_types",
  "response_types",
  "id_token_signed_response_alg",
  "dpop_bound_access_tokens",
  "require_pushed_authorization_requests",
] as const;

/** Links and a picture for people; an invalid one is dropped. */
const linkMembers = ["client_uri", "logo_uri", "tos_uri", "policy_uri"] as const;
const documentGrants = ["authorization_code", "refresh_token"];
const documentMethods = ["none", "private_key_jwt"];

export async function readClientDocument(
  body: string,
  url: string,
  issuer: string,
): Promise<ClientMetadata | DocumentRefusal> {
  const document = parseJsonObject(body);
  if (document === undefined) return { refused: "no JSON object" };
  if (document["client_id"] !== url) return { refused: "client_id is not the URL" };
  if (document["client_secret"] !== undefined || document["client_secret_expires_at"] !== undefined) {
    return { refused: "a shared secret" };
  }
  const method = document["token_endpoint_auth_method"] ?? "none";
  if (!documentMethods.some((allowed) => allowed === method)) return { refused: "token_endpoint_auth_method" };
  const metadata = { ...pick(document), token_endpoint_auth_method: method };
  const faults = await findDocumentFaults(metadata, issuer);
  const [fault] = faults;
  if (fault !== undefined) return { refused: `${fault.path}: ${fault.message}` };
  return requireDocument(metadata, issuer);
}

function pick(document: JsonObject): JsonObject {
  const picked: Record<string, unknown> = {};
  for (const name of readMembers) if (document[name] !== undefined) picked[name] = document[name];
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
    scope: ownScope(document["scope"]),
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
