const longest = 200;

/**
 * **A value of the request, as an error description may repeat it**: only characters of RFC 6749 §5.2, and not too many. A value names what was
 * wrong; it is never a token, a code or a secret.
 */
export function shownValue(value: string): string {
  const isShowable = value.length <= longest && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
  return isShowable ? value : "(a value that cannot be shown)";
}
