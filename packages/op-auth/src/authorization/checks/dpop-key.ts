import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { CodeRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** **`dpop_jkt` binds the code to a DPoP key.** @see https://www.rfc-editor.org/rfc/rfc9449#section-10 */
export function checkDpopKey({ parameters }: CheckInput): Pick<CodeRequest, "dpopThumbprint"> {
  const dpopThumbprint = parameters.get("dpop_jkt");
  // BASE64URL(SHA-256(…)) has 43 characters (RFC 7638 §3).
  if (dpopThumbprint !== undefined && !/^[A-Za-z0-9_-]{43}$/.test(dpopThumbprint)) {
    throw new OAuthError("invalid_request", "dpop-jkt-malformed", { description: "The dpop_jkt is malformed." });
  }
  return { dpopThumbprint };
}
