import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import type { ProvenKey } from "@edge-op/shared/callers/read-proof";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import type { Settings } from "@edge-op/shared/config/settings";
import type { Form } from "@edge-op/shared/http/read-form";
import type { CheckInput, CodeRequest } from "./authorization-request.ts";

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

/** **`dpop_jkt` binds the code to a DPoP key.** @see https://www.rfc-editor.org/rfc/rfc9449#section-10 */
export function checkDpopKey({ parameters }: CheckInput): Pick<CodeRequest, "dpopThumbprint"> {
  const dpopThumbprint = parameters.get("dpop_jkt");
  // BASE64URL(SHA-256(…)) has 43 characters (RFC 7638 §3).
  if (dpopThumbprint !== undefined && !/^[A-Za-z0-9_-]{43}$/.test(dpopThumbprint)) {
    throw new OAuthError("invalid_request", "dpop-jkt-malformed", { description: "The dpop_jkt is malformed." });
  }
  return { dpopThumbprint };
}

/** Sets `dpop_jkt` to the thumbprint of the proof's key. A `dpop_jkt` that names another key is refused (RFC 9449 §10.1). */
export function bindToProof(proof: ProvenKey | undefined, parameters: Form): Form {
  if (proof === undefined) return parameters;
  const { thumbprint } = proof.cnf;
  if ((parameters.get("dpop_jkt") ?? thumbprint) !== thumbprint) {
    throw new OAuthError("invalid_dpop_proof", "dpop-jkt-differs", {
      description: "The dpop_jkt is not the thumbprint of the DPoP proof's key.",
    });
  }
  return parameters.with("dpop_jkt", thumbprint);
}
