import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import type { Settings } from "@edge-op/shared/config/settings";
import type { CodeRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

type PkceInput = Pick<CheckInput, "client" | "parameters"> & {
  readonly context: { readonly settings: Pick<Settings, "securityProfile"> };
};

/**
 * **PKCE with S256.** It is required for public clients and FAPI 2.0. A confidential client may send a `nonce` for its ID token instead, by which it
 * detects an injected code (OAuth 2.1 §7.5.2), unless its `require_pkce` is true; if that is false, neither is required. `plain` is refused, because
 * it reveals the verifier to anyone who sees the request; a challenge without a method means `plain`. A challenge that is sent binds the code,
 * whether it was required or not.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1.1
 */
export function checkPkce(
  { context, client, parameters }: PkceInput,
  scope: readonly string[],
): Pick<CodeRequest, "codeChallenge"> {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  if (challenge === undefined) {
    if (method !== undefined || isPublicClient(client) || isFapi(context.settings, client)) throw missing("");
    const { require_pkce: required } = client.metadata;
    // Without `openid` in the scope there is no ID token that could return the nonce.
    const hasNonce = scope.includes("openid") && parameters.get("nonce") !== undefined;
    if (required === true) throw missing("");
    if (required === undefined && !hasNonce)
      throw missing(" Instead, a request with the scope openid may have a nonce.");
    return { codeChallenge: undefined };
  }
  if (method !== "S256") throw refusal("pkce-method", "The code_challenge_method must be S256.");
  // BASE64URL(SHA-256(…)) has 43 characters (RFC 7636 §4.2).
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) throw refusal("pkce-malformed", "The code_challenge is malformed.");
  return { codeChallenge: challenge };
}

function missing(alternative: string): OAuthError {
  return refusal("pkce-missing", `The parameter code_challenge is missing.${alternative}`);
}

function refusal(reason: RefusalReason, description: string): OAuthError {
  return new OAuthError("invalid_request", reason, { description });
}
