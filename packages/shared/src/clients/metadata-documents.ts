import { isolateMemory, limits } from "../config/limits.ts";
import { HostBudget } from "../http/host-budget.ts";
import { FetchedDocuments } from "../storage/fetched-documents.ts";
import type { ClientMetadata } from "./client.ts";

/**
 * **Client ID Metadata Documents**: the metadata of an unregistered client, at the https URL that is its `client_id`: 5 KB, status 200, no redirects,
 * `client_id` equal byte for byte, no shared secret. Failures and invalid documents are not cached (§5.2); the host budget bounds their fetches. The
 * rules of registered clients apply. Members that only an administrator may set (audiences, policies, `skip_consent`) and unknown members are
 * ignored.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-4
 */
export function createClientDocuments(): FetchedDocuments<ClientMetadata> {
  return new FetchedDocuments<ClientMetadata>({
    name: "client metadata document",
    rules: { timeoutMs: limits.clientDocumentMs, bodyBytes: limits.clientDocumentBytes },
    content: "json",
    freshness: { leastSeconds: 60, usualSeconds: 3600, mostSeconds: 86_400 },
    staleSeconds: 3600,
    failureSeconds: 10,
    forgetsFailures: true,
    maxBytes: isolateMemory.clientDocuments,
    urlBytes: isolateMemory.clientDocumentUrls,
    hostBudget: new HostBudget({
      perMinute: limits.documentFetchesPerMinute,
      maxBytes: isolateMemory.hostBudgets / 4,
    }),
    // Imported on first use: its schemas would delay the start of every isolate.
    read: async (...given) => (await import("./read-client-document.ts")).readClientDocument(...given),
  });
}
