import { OAuthError } from "./errors.ts";
import { shownValue } from "./shown-value.ts";

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
