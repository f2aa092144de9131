import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { requestedDetails } from "@edge-op/shared/clients/requested-access";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { issueGrant, refuseReplay } from "../issuing/issue-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { spend } from "../issuing/spend.ts";
import { findMismatch, refuseUse } from "../issuing/verify-code.ts";

const parameters = ["code", "redirect_uri", "code_verifier", "resource", "authorization_details"] as const;

type CodeRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Redeems an authorization code**, bound to client, `redirect_uri` (if it is sent or several are registered) and PKCE verifier. The code contains
 * what was authorized, so everything is known before it is spent: under a lease the grant is checked before that, otherwise at the same time, and the
 * code is given back unless the check passes. Cost warm: 1 object call; 1 signature, 2 with ID token (`direct`: 1 object call more; 1 more each for a
 * code and for a family that are too long for their texts). Calls that follow one another: 2 in a cold isolate, 1 after a pause, 1 in a busy one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3
 * @see https://openid.net/specs/openid-connect-core-1_0.html#TokenRequest
 */
export const authorizationCode = defineGrantModule({
  type: "authorization_code",
  parameters,
  credentials: ["code"],
  decide,
  issue,
});

async function decide(request: CodeRequest) {
  const { context, isolate, client, proof, form } = request;
  const text = form.require("code");
  const verifier = readVerifier(request);
  const details = requestedDetails(context.settings, client, form.get("authorization_details"));
  const code = await isolate.codes.open(context, text);
  if (code === undefined) throw new OAuthError("invalid_grant", "code-invalid");
  const codeChallenge = verifier === undefined ? undefined : encodeBase64Url(await sha256(verifier));
  const mismatch = findMismatch(code.payload, { clientId: client.clientId, cnf: proof?.cnf, codeChallenge });
  if (mismatch !== undefined) throw new OAuthError("invalid_grant", mismatch);
  const resources = await requestedResources(request, code.payload.resources);
  const user = await findActiveUser(request, code.payload.sub);
  return { text, code, redirectUri: form.get("redirect_uri"), resources, details, user };
}

async function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const { text, code, redirectUri, resources, details, user } = due;
  const { payload } = code;
  const { grant, sub } = payload;
  // First, so that a request that a proxy sends twice is refused as a repeated proof and does not end the grant as a stolen code (ADR 37).
  await proof?.spend();
  const { redirect_uris: registeredUris } = client.metadata;
  const asked = { redirectUri, registeredUris, resources, authorizationDetails: formatDetails(details) };
  const named = resources ?? payload.resources;
  const { result, checked } = await spend(
    request,
    named,
    ({ targets }, isUnchecked) =>
      isolate.codes.spend(context, code, { refusal: refuseUse(payload, { ...asked, targets }), isUnchecked }),
    { grant, sub, spent: "spent", takeBack: () => isolate.codes.takeBack(context, code) },
  );
  if (result.kind === "replayed") return refuseReplay(request, result.revocation, "code-replayed");
  if (result.kind === "invalid_request") throw missingRedirectUri();
  if (result.kind !== "spent") throw refusalOfObject(result);
  isolate.clientResources.remember(client.clientId, named, context.arrivedAtMs);
  return issueGrant(await request.commit(), {
    payload,
    user,
    resources,
    details,
    checked,
    nonce: payload.nonce,
    code: text,
  });
}

function missingRedirectUri(): OAuthError {
  return new OAuthError("invalid_request", "code-redirect-uri-missing", {
    description:
      "The parameter redirect_uri is missing. It may be omitted with PKCE by a client with one redirect URI.",
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
