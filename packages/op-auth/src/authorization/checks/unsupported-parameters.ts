import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { CheckInput } from "./check-input.ts";

/** **Refuses the `registration` parameter** with its own error code. @see https://openid.net/specs/openid-connect-core-1_0.html#AuthError */
export function checkUnsupportedParameters({ parameters }: CheckInput): void {
  if (parameters.get("registration") !== undefined) {
    throw new OAuthError("registration_not_supported", "registration-parameter");
  }
}
