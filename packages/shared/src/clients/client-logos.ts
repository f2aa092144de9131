import { isolateMemory, limits } from "../config/limits.ts";
import { type DocumentRefusal, FetchedDocuments } from "../storage/fetched-documents.ts";
import type { Client } from "./client.ts";

export interface ClientLogo {
  readonly dataUrl: string;
}

/**
 * **The logos of clients that no administrator has registered**, as data URLs: copies that this provider fetches, so that a browser does not call the
 * client's server before its user decides. Accepts PNG, JPEG, WebP and GIF, recognised by their first bytes, up to 64 KiB; never SVG, which can
 * contain scripts.
 *
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 */
export function createClientLogos(): FetchedDocuments<ClientLogo> {
  return new FetchedDocuments<ClientLogo>({
    name: "client logo",
    rules: { timeoutMs: limits.clientLogoMs, bodyBytes: limits.outboundFetchBytes },
    content: "image",
    freshness: { leastSeconds: 3600, usualSeconds: 86_400, mostSeconds: 86_400 },
    staleSeconds: 86_400,
    failureSeconds: 300,
    maxBytes: isolateMemory.clientLogos,
    urlBytes: isolateMemory.clientLogoUrls,
    read: readLogo,
  });
}

/**
 * The URL of a logo on the client's own origin: that of its metadata document, or of all its redirection URIs. A logo from another site could make
 * people believe that they sign in there (RFC 7591 §5).
 */
export function ownLogoUrl({ clientId, origin, metadata }: Client): string | undefined {
  const { logo_uri: uri, redirect_uris: redirectUris } = metadata;
  if (origin === undefined || uri === undefined) return undefined;
  const owned = origin === "document" ? [clientId] : redirectUris;
  const isOwn = owned.length > 0 && owned.every((each) => new URL(each).origin === new URL(uri).origin);
  return isOwn ? uri : undefined;
}

/** The first characters of the bytes of an image; in a WebP file, its length is between the two parts. */
const signatures = [
  { type: "image/png", begins: "\x89PNG\r\n\x1a\n", follows: "" },
  { type: "image/jpeg", begins: "\xff\xd8\xff", follows: "" },
  { type: "image/gif", begins: "GIF87a", follows: "" },
  { type: "image/gif", begins: "GIF89a", follows: "" },
  { type: "image/webp", begins: "RIFF", follows: "WEBP" },
] as const;

function readLogo(base64: string): ClientLogo | DocumentRefusal {
  const start = atob(base64.slice(0, 16));
  const found = signatures.find(
    ({ begins, follows }) => start.startsWith(begins) && start.slice(8).startsWith(follows),
  );
  return found === undefined ? { refused: "no image" } : { dataUrl: `data:${found.type};base64,${base64}` };
}
