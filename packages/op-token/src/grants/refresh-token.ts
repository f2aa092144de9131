import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, refusalOfObject } from "@edge-op/protocol/oauth/errors";
import { parseScope } from "@edge-op/protocol/oauth/scope";
import { isPublicClient } from "@edge-op/shared/clients/client";
import { requestedDetails } from "@edge-op/shared/clients/requested-access";
import { isFapi } from "@edge-op/shared/clients/security-profile";
import { revokeAtPlaces } from "@edge-op/shared/endings/endings";
import { grantRevocationRequests } from "@edge-op/shared/grants/grant-revocation";
import type { RotationRefusal } from "@edge-op/shared/refresh/refresh-family-rpc";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { defineGrantModule, type GrantRequest, type IssueRequest, type TokenResponse } from "../grant-module.ts";
import { findActiveUser, refuseOtherOrganization } from "../issuing/find-active-user.ts";
import { planAccessToken, toFamilyAccessToken, tokensEndAtMs } from "../issuing/issue-access-token.ts";
import { issueLoginTokens } from "../issuing/issue-login-tokens.ts";
import { requestedResources } from "../issuing/requested-target.ts";
import { spend } from "../issuing/spend.ts";

const parameters = ["refresh_token", "scope", "resource", "authorization_details", "organization"] as const;

type RefreshRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Refresh, with rotation** (docs/reference/protocols.md §3): the token's MAC, the user and, under a lease, the grant's revocation are checked
 * before the family's one object call. Without a lease both calls are made at once, and the rotation is taken back unless the check passes. Only then
 * is anything signed. Cost warm: 1 object call, 0 KV, 0 D1, 1 signature (2 with ID token); `direct` 2 object calls; one more, once per family and
 * generation, when it moves. Calls that follow one another: 2 in a cold isolate, 1 after a pause, 1 in a busy one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.14
 */
export const refreshToken = defineGrantModule({
  type: "refresh_token",
  parameters,
  credentials: ["refresh_token"],
  decide,
  issue,
});

async function decide(request: RefreshRequest) {
  const { context, client, form } = request;
  const scope = parseScope(form.get("scope"));
  const token = await readRefreshToken(context, form.require("refresh_token"));
  if (token === undefined) throw new OAuthError("invalid_grant", "refresh-token-invalid");
  const resources = await requestedResources(request, token.initial?.family.resources);
  const details = await requestedDetails(context.settings, client, form.get("authorization_details"));
  refuseOtherOrganization(form, token.orgId);
  const user = await findActiveUser(request, token.sub, token.orgId);
  return { token, scope, resources, details, user };
}

async function issue(request: IssueRequest, due: Awaited<ReturnType<typeof decide>>): Promise<TokenResponse> {
  const { context, isolate, client } = request;
  const { token, scope, resources, details, user } = due;
  const use = {
    clientId: client.clientId,
    cnf: request.proof?.cnf,
    scope,
    resources,
    authorizationDetails: formatDetails(details),
    // FAPI 2.0 §5.3.2.1 item 9: without the client's credential and its key, the token is useless.
    keepsToken: isFapi(context.settings, client),
    // RFC 9449 §5, RFC 8705 §4: nothing else protects the refresh token of a public client.
    bindsToken: isPublicClient(client),
    dropsScope: client.origin !== undefined,
    graceMs: (client.metadata.refresh_token_grace ?? context.settings.refreshGraceSeconds) * 1000,
  };
  const { sub, orgId } = token;
  // Its tokens move to the newest generation of revocation shards, so that older ones drain; the family decides about its refresh tokens.
  const { grantId, address } = token.grant;
  const grant = { grantId, address: await isolate.shardMap.placeAgain(context, "revocation", address, grantId) };
  const { result: rotation, checked } = await spend(
    request,
    resources ?? token.initial?.family.resources,
    ({ targets, allowedScope, longestLifetimeSeconds }, isUnchecked) => {
      const planned = planAccessToken(request, grant, { lifetimeSeconds: longestLifetimeSeconds });
      const accessToken = toFamilyAccessToken(planned);
      const ends = { accessToken, tokensEndAtMs: tokensEndAtMs(request, accessToken) };
      return isolate.refreshFamilies.rotate(context, token, { ...use, targets, allowedScope, ...ends, isUnchecked });
    },
    { grant, sub, orgId, spent: "rotated", takeBack: () => isolate.refreshFamilies.takeBack(context, token) },
  );
  if ("reason" in rotation) return refuse(request, rotation);
  const { family, successor, refreshToken } = rotation;
  const tokens = { ...successor, login: { ...family, orgId }, user, refreshToken, checked };
  return issueLoginTokens(await request.commit(), { ...tokens, requestedDetails: details });
}

/** A reused token is refused after its grant is revoked, access tokens included (R3). */
async function refuse({ context, isolate }: IssueRequest, refusal: RotationRefusal): Promise<never> {
  if (refusal.kind === "invalid_grant" && refusal.theft !== undefined) {
    await revokeAtPlaces(context, isolate, grantRevocationRequests(refusal.theft, nowMs()));
  }
  throw refusalOfObject(refusal);
}
