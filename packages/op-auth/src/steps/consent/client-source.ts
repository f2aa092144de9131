import { type Client, isPublicClient } from "@edge-op/shared/clients/client";

/**
 * **The origin of a client that no administrator has registered**, as shown to people: the host that its metadata come from, the host that they are
 * redirected to, and whether any program on their device can impersonate it.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-8.5
 */
export interface ClientSource {
  /** The host of the metadata document; `undefined` for a client that registered itself. */
  readonly host: string | undefined;
  /** `undefined` if the redirect URI belongs to a program on the device. */
  readonly redirectHost: string | undefined;
  /** All of its redirect URIs are on the device, and it has no key. */
  readonly isLocalOnly: boolean;
}

export function clientSource(client: Client, redirectUri: string): ClientSource | undefined {
  if (client.origin === undefined) return undefined;
  return {
    host: client.origin === "document" ? new URL(client.clientId).hostname : undefined,
    redirectHost: remoteHost(redirectUri),
    isLocalOnly: isPublicClient(client) && client.metadata.redirect_uris.every((uri) => remoteHost(uri) === undefined),
  };
}

function remoteHost(uri: string): string | undefined {
  const { protocol, hostname } = new URL(uri);
  return protocol === "https:" ? hostname : undefined;
}
