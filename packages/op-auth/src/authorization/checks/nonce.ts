import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { CodeRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/** The nonce is stored with the code and copied to the ID token, so its length is limited. */
const nonceCharacters = 1024;

/** **`nonce` is passed on unmodified.** @see https://openid.net/specs/openid-connect-core-1_0.html#NonceNotes */
export function checkNonce({ parameters }: CheckInput): Pick<CodeRequest, "nonce"> {
  const nonce = parameters.get("nonce");
  if ((nonce?.length ?? 0) > nonceCharacters) {
    throw new OAuthError("invalid_request", "nonce-too-long", { description: "The nonce is too long." });
  }
  return { nonce };
}
