import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { requestedDetails } from "@edge-op/shared/clients/requested-details";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { redeemGrant } from "../issuing/redeem-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";

const parameters = ["code", "redirect_uri", "code_verifier", "resource", "authorization_details"] as const;

type CodeRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Redeems an authorization code**, bound to client, `redirect_uri` and PKCE verifier. Only the code names the user and the grant, so both are
 * checked after it is spent. Cost warm: 1 object call; 1 signature, 2 with ID token (`direct`: 1 object call more; an isolate whose
 * leases have ended: 1 more, before the code; a refresh token whose family is too long for it: 1 more).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3
 * @see https://openid.net/specs/openid-connect-core-1_0.html#TokenRequest
 */
export const authorizationCode = defineGrantModule({ type: "authorization_code", parameters, decide, issue });

async function decide(request: CodeRequest) {
  const { context, client, form } = request;
  return {
    code: form.require("code"),
    redirectUri: form.get("redirect_uri"),
    codeVerifier: readVerifier(request),
    resources: requestedResources(form),
    details: requestedDetails(context.settings, client, form.get("authorization_details")),
  };
}

function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate } = request;
  const { code, redirectUri, codeVerifier } = due;
  return redeemGrant(request, due, {
    redeem: (presented) => isolate.codes.redeem(context, code, { ...presented, redirectUri, codeVerifier }),
    replayed: "code-replayed",
    bound: ({ nonce }) => ({ nonce, code }),
  });
}

/** @see https://www.rfc-editor.org/rfc/rfc7636#section-4.1 */
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

function readVerifier({ form, client }: CodeRequest): string | undefined {
  const verifier = form.get("code_verifier");
  if (verifier === undefined) {
    // Without it, anyone who intercepted the code could redeem it (RFC 9700 §2.1.1).
    if (isPublicClient(client)) throw new OAuthError("invalid_grant", "verifier-missing");
    return undefined;
  }
  if (!verifierPattern.test(verifier)) throw new OAuthError("invalid_grant", "verifier-malformed");
  return verifier;
}
