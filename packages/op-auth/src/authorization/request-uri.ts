/**
 * **`request_uri` values**: references that this provider issued. URLs are never fetched.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9126#section-2.2
 */

const prefix = "urn:ietf:params:oauth:request_uri:";

export function formatRequestUri(id: string): string {
  return prefix + id;
}

/** `undefined` for any other URI. */
export function parseRequestUri(uri: string | undefined): string | undefined {
  return uri?.startsWith(prefix) ? uri.slice(prefix.length) : undefined;
}
