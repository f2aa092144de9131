import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { type DetailsText, formatDetails, refuseDetails } from "@edge-op/protocol/oauth/authorization-details";
import { isConfirmedBy, type KeyConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { requestedDetails } from "@edge-op/shared/clients/requested-access";
import { refuseResources, type TokenTargets, uncheckedResources } from "@edge-op/shared/clients/token-targets";
import type { AuthorizationCodePayload, RedemptionRefusal } from "@edge-op/shared/codes/authorization-code-rpc";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { issueGrant, refuseReplay } from "../issuing/issue-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { spend } from "../issuing/spend.ts";

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
  const details = await requestedDetails(context.settings, client, form.get("authorization_details"));
  const code = await isolate.codes.open(context, text);
  if (code === undefined) throw new OAuthError("invalid_grant", "code-invalid");
  const codeChallenge = verifier === undefined ? undefined : encodeBase64Url(await sha256(verifier));
  const mismatch = findMismatch(code.payload, { clientId: client.clientId, cnf: proof?.cnf, codeChallenge });
  if (mismatch !== undefined) throw new OAuthError("invalid_grant", mismatch);
  const resources = await requestedResources(request, code.payload.resources);
  const user = await findActiveUser(request, code.payload.sub, code.payload.orgId);
  return { text, code, redirectUri: form.get("redirect_uri"), resources, details, user };
}

async function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate, client, proof } = request;
  const { text, code, redirectUri, resources, details, user } = due;
  const { payload } = code;
  const { grant, sub, orgId } = payload;
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
    { grant, sub, orgId, spent: "spent", takeBack: () => isolate.codes.takeBack(context, code) },
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

/** The values that prove that the caller is the client the code was issued to. */
export interface PresentedProofs {
  readonly clientId: string;
  /** The key that the request proves. */
  readonly cnf: KeyConfirmation | undefined;
  /** S256 of the presented verifier. */
  readonly codeChallenge: string | undefined;
}

/**
 * Why a caller may not use a code at all: it is refused, and can neither spend nor replay the code. A `redirect_uri` is not among the proofs, because
 * it is not secret.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.5
 */
export function findMismatch(payload: AuthorizationCodePayload, presented: PresentedProofs): RefusalReason | undefined {
  if (payload.clientId !== presented.clientId) return "code-of-other-client";
  if (!isConfirmedBy(payload.cnf, presented.cnf)) return "code-of-other-key";
  if (payload.codeChallenge === presented.codeChallenge) return undefined;
  // A verifier without a challenge indicates a downgrade, in which an attacker removed the challenge from the request (RFC 9700 §4.8.2).
  if (payload.codeChallenge === undefined) return "verifier-unexpected";
  return presented.codeChallenge === undefined ? "verifier-missing" : "verifier-wrong";
}

/** The parameters of a redemption. `undefined`: everything that was authorized (RFC 8707 §2.2, RFC 9396 §6). */
export interface RequestedUse {
  readonly redirectUri: string | undefined;
  /** The redirect URIs of the client's current registration. */
  readonly registeredUris: readonly string[];
  readonly resources: readonly string[] | undefined;
  readonly authorizationDetails: DetailsText | undefined;
  /** The targets of the client's current registration. */
  readonly targets: TokenTargets;
}

/** Why the code is not spent for a request whose proofs are right; `undefined` if it may be. */
export function refuseUse(
  payload: AuthorizationCodePayload,
  { redirectUri, registeredUris, resources, authorizationDetails, targets }: RequestedUse,
): RedemptionRefusal | undefined {
  if (redirectUri === undefined) {
    // OAuth 2.1 §10.2: PKCE prevents the injection of codes. OIDC Core §3.1.3.2: "when there is only one registered redirect_uri value".
    const mayOmit = payload.codeChallenge !== undefined && registeredUris.length === 1;
    if (!mayOmit) return { kind: "invalid_request", reason: "code-redirect-uri-missing" };
  } else if (payload.redirectUri !== redirectUri) {
    return { kind: "invalid_grant", reason: "code-redirect-uri" };
  }
  const unchecked = uncheckedResources(resources, payload.resources, targets);
  if (unchecked !== undefined) return { kind: "unchecked_resources", resources: unchecked };
  const refusal = refuseResources(resources, payload.resources, targets);
  if (refusal !== undefined) return { kind: "invalid_target", reason: refusal };
  const beyond = refuseDetails(payload.authorizationDetails, authorizationDetails);
  return beyond === undefined ? undefined : { kind: "invalid_authorization_details", reason: beyond };
}
