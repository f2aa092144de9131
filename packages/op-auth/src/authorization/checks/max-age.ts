import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { AuthorizationRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** **`max_age`, or the client's default.** @see https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest */
export function checkMaxAge({ client, parameters }: CheckInput): Pick<AuthorizationRequest, "maxAgeSeconds"> {
  const text = parameters.get("max_age");
  if (text === undefined) return { maxAgeSeconds: client.metadata.default_max_age };
  if (!/^\d{1,10}$/.test(text)) {
    throw new OAuthError("invalid_request", "max-age-malformed", {
      description: "The max_age must be a number of seconds.",
    });
  }
  return { maxAgeSeconds: Number(text) };
}
