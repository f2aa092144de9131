import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** What fits into a username field. */
const hintCharacters = 256;
const localesAtMost = 10;

/**
 * **What helps a person along**: a hint at who they are and the languages they read. Neither decides anything, so neither is
 * refused: what is too long is dropped.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export function checkHints({ parameters }: CheckInput): Pick<AuthorizationRequest, "loginHint" | "uiLocales"> {
  const hint = parameters.get("login_hint");
  return {
    loginHint: hint !== undefined && hint.length <= hintCharacters ? hint : undefined,
    uiLocales:
      parameters
        .get("ui_locales")
        ?.split(" ", localesAtMost)
        .filter((tag) => tag.length <= 35) ?? [],
  };
}
