import { OAuthError, shownValue } from "./errors.ts";

/** The characters of RFC 3986 §2, without `#`. A parser would repair others, and a value with a space could be read as two. */
const uriCharacters = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;

/**
 * **Checks one `resource` value**: an absolute URI without a fragment. It is returned unchanged, because comparison is by code point.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
export function requireResourceIndicator(value: string): string {
  if (!uriCharacters.test(value) || !URL.canParse(value)) {
    throw new OAuthError("invalid_target", "resource-malformed", {
      description: `The resource ${shownValue(value)} is not an absolute URI without a fragment.`,
    });
  }
  return value;
}

/** An http URL without a fragment or user information, in its parts. */
const httpUrl = /^(https?):\/\/([^/?#@]+)([^#]*)$/i;

/**
 * **One spelling of the URLs that RFC 3986 §6.2 calls equal**: scheme and host in lower case, no default port, `/` for an empty path. Any other value
 * is returned unchanged. Issued tokens contain the registered spelling, because APIs compare `aud` byte for byte. packages/resource-server, which
 * imports no other package, compares in the same way.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3986#section-6.2
 */
export function canonicalResource(resource: string): string {
  const [, scheme, authority, rest] = httpUrl.exec(resource) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return resource;
  const port = scheme.toLowerCase() === "https" ? /:(?:443)?$/ : /:(?:80)?$/;
  const path = rest.startsWith("/") ? rest : `/${rest}`;
  return `${scheme}://${authority.replace(port, "")}`.toLowerCase() + path;
}

export function isSameResource(one: string, other: string): boolean {
  return one === other || canonicalResource(one) === canonicalResource(other);
}

/** The value as one of `registered` spells it; unchanged if none is equal to it. */
export function registeredSpelling(value: string, registered: readonly string[]): string {
  return registered.includes(value) ? value : (registered.find((each) => isSameResource(each, value)) ?? value);
}

/** The other spellings under which a resource is looked up: the canonical one, and an origin without its slash. */
export function otherSpellings(value: string): readonly string[] {
  const canonical = canonicalResource(value);
  const bare = /^https?:\/\/[^/]+\/$/.test(canonical) ? [canonical.slice(0, -1)] : [];
  return [canonical, ...bare].filter((each) => each !== value);
}
