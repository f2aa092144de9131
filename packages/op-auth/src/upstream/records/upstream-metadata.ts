import { isolateMemory, limits } from "@edge-op/shared/config/limits";
import { FetchedDocuments } from "@edge-op/shared/storage/fetched-documents";

/** The text of a metadata document. */
interface MetadataText {
  readonly text: string;
}

/** **Metadata of upstream providers**, cached as their HTTP headers allow (5 minutes to a day). openid-client reads and checks them. */
export function createUpstreamMetadata(): FetchedDocuments<MetadataText> {
  return new FetchedDocuments<MetadataText>({
    name: "upstream metadata",
    rules: { timeoutMs: limits.outboundFetchMs, bodyBytes: limits.outboundFetchBytes },
    content: "json or untyped",
    freshness: { leastSeconds: 300, usualSeconds: 3_600, mostSeconds: 86_400 },
    staleSeconds: 3_600,
    failureSeconds: 10,
    maxBytes: isolateMemory.upstreamMetadata / 2,
    urlBytes: isolateMemory.upstreamMetadata / 6,
    read: (text) => ({ text }),
  });
}
