const longest = 200;

/**
 * **Shortens a value of the request for an error description**, which may only contain characters of RFC 6749 §5.2. The value identifies the error;
 * it is never a token, a code or a secret.
 */
export function shownValue(value: string): string {
  const isShowable = value.length <= longest && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
  return isShowable ? value : "(a value that cannot be shown)";
}

/** **Shortens a value of the request for the log**, in printable ASCII. It is never a token, a code or a secret. */
export function loggedValue(value: string): string {
  const cut = value.length > longest ? `${value.slice(0, longest)}…` : value;
  return cut.replace(/[^\x20-\x7e…]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Shortens a URI for the log, without user information, query values and fragment, which may contain codes and tokens. */
export function loggedUri(uri: string): string {
  const [, base = "", query, fragment] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(uri) ?? [];
  const names = query
    ?.slice(1)
    .split("&")
    .map((pair) => (pair.includes("=") ? `${pair.slice(0, pair.indexOf("="))}=…` : "…"));
  const shown = base.replace(/^([^/]*:)?\/\/[^/]*@/, "$1//…@");
  return loggedValue(shown + (names === undefined ? "" : `?${names.join("&")}`) + (fragment === undefined ? "" : "#…"));
}
