import { readLocales } from "@edge-op/pages/languages";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** The length of the username field. */
const hintCharacters = 256;

/**
 * **`login_hint` and `ui_locales`.** Neither affects the decision, so neither is refused: a value that is too long is ignored.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest
 */
export function checkHints({ parameters }: CheckInput): Pick<AuthorizationRequest, "loginHint" | "uiLocales"> {
  const hint = parameters.get("login_hint");
  return {
    loginHint: hint !== undefined && hint.length <= hintCharacters ? hint : undefined,
    uiLocales: readLocales(parameters.get("ui_locales")),
  };
}
