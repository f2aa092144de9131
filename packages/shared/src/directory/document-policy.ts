import type { DocumentPolicy, HostPolicy } from "../config/document-policies.ts";

/**
 * **Which clients may be known by a metadata document**: a policy of the deployment, and exceptions for hosts. A `client_id` is the URL of a document if it is https with a
 * path, and written as the URL parser writes it: no other spelling of it can be another client.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-00#section-3
 */
interface PolicySettings {
  readonly issuer: string;
  readonly clientDocuments: DocumentPolicy;
  readonly clientDocumentHosts: readonly HostPolicy[];
}

/** An id of a record has 255 characters at most. */
const longestUrl = 255;

export function isDocumentUrl(clientId: string, { issuer }: Pick<PolicySettings, "issuer">): boolean {
  const isLocal = issuer.startsWith("http:") && clientId.startsWith("http:");
  if (!clientId.startsWith("https:") && !isLocal) return false;
  if (clientId.length > longestUrl || !URL.canParse(clientId)) return false;
  const { href, pathname, username, password } = new URL(clientId);
  return href === clientId && pathname !== "/" && !clientId.includes("#") && username === "" && password === "";
}

/** The policy for a document's host: the first exception that names it, else the deployment's. */
export function documentPolicy(clientId: string, settings: PolicySettings): DocumentPolicy {
  const { hostname } = new URL(clientId);
  const named = settings.clientDocumentHosts.find(({ host }) =>
    host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host,
  );
  return named?.policy ?? settings.clientDocuments;
}
