/**
 * **URIs that a client may register.** They are compared byte for byte later, so only the syntax of RFC 3986 is accepted: text that a lenient parser
 * would repair (white space, backslashes, missing slashes) is refused, and so is a final dot of the host, which is another spelling of the same host.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 */

export type ApplicationType = "web" | "native";

const uriCharacters = /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;

function parseUri(text: string): URL | undefined {
  if (!uriCharacters.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol === "https:" || url.protocol === "http:") && !/^https?:\/\/[^/]/i.test(text)) return undefined;
  if (url.hostname.endsWith(".")) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

function isLoopback(url: URL): boolean {
  return url.hostname === "localhost" || url.hostname === "127.0.0.1" || url.hostname === "[::1]";
}

/** https, or http on a loopback address, for development. */
export function isWebUri(text: string): boolean {
  const url = parseUri(text);
  return url !== undefined && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url)));
}

/** OIDC Core §4: https, on a loopback address too. */
export function isHttpsUriWithoutFragment(text: string): boolean {
  return parseUri(text)?.protocol === "https:" && !text.includes("#");
}

export function isWebUriWithoutFragment(text: string): boolean {
  return isWebUri(text) && !text.includes("#");
}

export function isUriWithoutFragment(text: string): boolean {
  return parseUri(text) !== undefined && !text.includes("#");
}

/** Schemes that belong to browsers, operating systems or everybody: a redirect to them runs a script, opens a file or reaches another program. */
const commonSchemes = [
  ...["http", "https", "ws", "wss", "ftp", "javascript", "vbscript", "data", "file", "filesystem", "blob", "about"],
  ...["view-source", "resource", "chrome", "chrome-extension", "moz-extension", "intent", "content", "urn"],
  ...["mailto", "tel", "sms", "ldap", "ldaps", "ssh", "jar", "cid", "mid", "ms-settings", "search-ms"],
];

/** Whether an operator may allow the scheme for native applications although it contains no dot. */
export function isPrivateUseName(scheme: string): boolean {
  return /^[a-z][a-z0-9+-]*$/.test(scheme) && !commonSchemes.includes(scheme);
}

/** RFC 8252 §7.1, §8.4: a private-use scheme is a domain name in reverse, or one that the operator `allowed` (PRIVATE_USE_SCHEMES). */
export function isPrivateUse(text: string, allowed: readonly string[]): boolean {
  const scheme = text.slice(0, text.indexOf(":"));
  return /^[A-Za-z][A-Za-z0-9+-]*(\.[A-Za-z0-9+-]+)+$/.test(scheme) || allowed.includes(scheme.toLowerCase());
}

/** The fault of a redirection URI; `undefined` if it has none. `allowed`: private-use schemes without a dot. */
export function redirectUriFault(text: string, type: ApplicationType, allowed: readonly string[]): string | undefined {
  // A URI meant as a pattern would be registered and never match.
  if (text.includes("*")) return "must be the exact URI: wildcards are not supported";
  if (!isUriWithoutFragment(text)) return "must be an absolute URI without a fragment";
  if (isWebUri(text)) return undefined;
  if (type === "native") {
    return isPrivateUse(text, allowed)
      ? undefined
      : "must be https, http on a loopback address, or a private-use scheme with a dot (others by PRIVATE_USE_SCHEMES)";
  }
  return "must be https, or http on a loopback address; private-use schemes require application_type native";
}
