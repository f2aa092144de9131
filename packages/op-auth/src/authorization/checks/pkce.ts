import { isPublicClient } from "@edge-op/shared/directory/client";
import { isFapi } from "@edge-op/shared/directory/security-profile";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import type { RefusalReason } from "@edge-op/shared/oauth/refusal-reasons";
import type { CodeRequest } from "./authorization-request.ts";
import type { CheckInput } from "./check-input.ts";

/**
 * **PKCE with S256**, required unless a confidential client's `require_pkce` is false (never with FAPI 2.0). `plain` is refused, because it reveals the verifier to
 * anyone who sees the request; a challenge without a method means `plain`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1.1
 */
export function checkPkce({ context, client, parameters }: CheckInput): Pick<CodeRequest, "codeChallenge"> {
  const challenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  if (challenge === undefined) {
    const mayOmit = client.metadata.require_pkce === false && !isFapi(context.settings, client);
    if (method !== undefined || isPublicClient(client) || !mayOmit) {
      throw refusal("pkce-missing", "The parameter code_challenge is missing.");
    }
    return { codeChallenge: undefined };
  }
  if (method !== "S256") throw refusal("pkce-method", "The code_challenge_method must be S256.");
  // BASE64URL(SHA-256(…)) has 43 characters (RFC 7636 §4.2).
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) throw refusal("pkce-malformed", "The code_challenge is malformed.");
  return { codeChallenge: challenge };
}

function refusal(reason: RefusalReason, description: string): OAuthError {
  return new OAuthError("invalid_request", reason, { description });
}
