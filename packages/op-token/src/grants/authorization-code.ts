import { isPublicClient } from "@edge-op/shared/directory/client";
import { requestedDetails } from "@edge-op/shared/directory/requested-details";
import { formatDetails } from "@edge-op/shared/oauth/authorization-details";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { loginContext } from "@edge-op/shared/oauth/login-context";
import { grantRevocationRequest } from "@edge-op/shared/objects/grant-revocation";
import { defineGrant, type GrantRequest, type TokenResponse } from "../grant.ts";
import { spendChecked } from "../issuing/checked-targets.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { planAccessToken, toFamilyAccessToken } from "../issuing/issue-access-token.ts";
import { issueLoginTokens } from "../issuing/issue-login-tokens.ts";
import { refuseRevokedGrant } from "../issuing/refuse-revoked-grant.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { findResources, longestLifetimeSeconds } from "../issuing/resource-rules.ts";
import { startFamily, tokensEndBySeconds } from "../issuing/start-family.ts";

const parameters = ["code", "redirect_uri", "code_verifier", "resource", "authorization_details"] as const;

type CodeRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Redeems an authorization code**, bound to client, `redirect_uri` and PKCE verifier; starts the refresh family in the
 * same object call. Only the code names the user and the grant, so both are checked after it is spent.
 * Cost warm: 1 object call, 2 with refresh token; 1 signature, 2 with ID token (`direct`: 1 object call more, 3 at most).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3
 * @see https://openid.net/specs/openid-connect-core-1_0.html#TokenRequest
 */
export const authorizationCode = defineGrant({ type: "authorization_code", parameters, issue });

async function issue(request: CodeRequest): Promise<TokenResponse> {
  const code = request.form.require("code");
  // Before the code: a request that is sent again as it is must not count as a second use of the code.
  await request.proof?.spend();
  const { payload, ...requested } = await redeem(request, code);
  const { grant, sub, scope, nonce } = payload;
  const [user] = await Promise.all([findActiveUser(request, sub), refuseRevokedGrant(request, payload)]);
  // After the check of the grant, whose response has the control version: it costs no call. A client that turns out to be
  // disabled has spent its own code and gets no token.
  await request.confirm();
  const login = loginContext(payload);
  const notAfterSeconds = tokensEndBySeconds(request, payload);
  const lifetimeSeconds = longestLifetimeSeconds(request, await findResources(request, payload.resources));
  const accessToken = toFamilyAccessToken(planAccessToken(request, grant, { lifetimeSeconds, notAfterSeconds }));
  const refreshToken = await startFamily(request, payload, accessToken);
  const tokens = { grant, login, user, accessToken, scope, nonce, code, refreshToken, notAfterSeconds };
  return issueLoginTokens(request, { ...tokens, ...requested });
}

async function redeem(request: CodeRequest, code: string) {
  const { context, isolate, client, form } = request;
  const codeVerifier = readVerifier(request);
  const resources = requestedResources(form);
  const details = requestedDetails(context.settings, client, form.get("authorization_details"));
  const presented = {
    clientId: client.clientId,
    redirectUri: form.get("redirect_uri"),
    codeVerifier,
    cnf: request.proof?.cnf,
    resources,
    authorizationDetails: formatDetails(details),
  };
  const result = await spendChecked(request, resources, ({ targets }) =>
    isolate.codes.redeem(context, code, { ...presented, targets }),
  );
  switch (result.kind) {
    case "redeemed":
      return {
        payload: result.payload,
        resources: resources ?? result.payload.resources,
        requestedDetails: details,
      };
    case "replayed": {
      // One of its two users stole the code: every token issued for it is revoked (RFC 6749 §4.1.2).
      const revocation = await isolate.refreshFamilies.end(context, result.revocation);
      await isolate.revocation.revoke(context, revocation.grant.address, [grantRevocationRequest(revocation)]);
      throw new OAuthError("invalid_grant", "code replayed");
    }
    default:
      throw new OAuthError(result.kind, result.reason);
  }
}

/** @see https://www.rfc-editor.org/rfc/rfc7636#section-4.1 */
const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/;

function readVerifier({ form, client }: CodeRequest): string | undefined {
  const verifier = form.get("code_verifier");
  if (verifier === undefined) {
    // Without it anyone who intercepted the code could redeem it (RFC 9700 §2.1.1).
    if (isPublicClient(client)) throw new OAuthError("invalid_grant", "public client without code_verifier");
    return undefined;
  }
  if (!verifierPattern.test(verifier)) throw new OAuthError("invalid_grant", "malformed code_verifier");
  return verifier;
}
