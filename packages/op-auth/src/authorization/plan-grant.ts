import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import type { Authentication } from "@edge-op/protocol/oauth/authentication-context";
import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import type { Client } from "@edge-op/shared/clients/client";
import { codeTokensEndAtMs } from "@edge-op/shared/codes/authorization-code-rpc";
import { type GrantIdentity, grantEndsAtMs, newGrant } from "@edge-op/shared/grants/grant";
import { type GrantFamily, rowUntilMs } from "@edge-op/shared/grants/grant-revocation";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { Resource } from "@edge-op/shared/resources/resource";
import type { Session, SessionGrant } from "@edge-op/shared/sessions/session-rpc";
import type { AuthEnv } from "../runtime/auth-env.ts";
import type { AuthIsolate } from "../runtime/isolate.ts";
import type { AuthorizationRequest } from "./authorization-request.ts";

/** A new grant, and its refresh family if it has one: both are known in advance, so that ending the grant can end the family first (ADR 16). */
export interface PlannedGrant extends GrantIdentity {
  readonly family: GrantFamily;
  /** When every token of the grant has expired. */
  readonly grantEndsAtMs: number;
  readonly tokenLifetimeSeconds: number;
}

/** The client, user and resources of a grant. */
interface GrantPlan {
  readonly client: Client;
  /** The version that the sign-in rests on, even if the grant is given much later. */
  readonly signInVersion: number | undefined;
  readonly resources: readonly Resource[];
  /** For a device code; an authorization code is redeemable for a minute. */
  readonly redeemableUntilMs?: number;
}

export async function planGrant(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { client: { clientId, metadata }, signInVersion, resources, redeemableUntilMs }: GrantPlan,
): Promise<PlannedGrant> {
  const grant = await newGrant(context, isolate, { clientId, signInVersion });
  const { accessTokenLifetimeSeconds, idTokenLifetimeSeconds } = context.settings;
  const accessTokenSeconds = metadata.access_token_lifetime ?? accessTokenLifetimeSeconds;
  const ofResources = resources.map(({ metadata: rule }) => rule.access_token_lifetime ?? 0);
  const tokenLifetimeSeconds = Math.max(accessTokenSeconds, idTokenLifetimeSeconds, ...ofResources);
  const address = await isolate.shardMap.place(context, "refresh", grant.grantId);
  const tokensEndAtMs = codeTokensEndAtMs(redeemableUntilMs ?? grant.grantCreatedAtMs, tokenLifetimeSeconds);
  const endsAtMs = grantEndsAtMs(context.settings, grant.grantCreatedAtMs);
  return { ...grant, family: { address, tokensEndAtMs }, grantEndsAtMs: endsAtMs, tokenLifetimeSeconds };
}

export function isOffline({ scope }: Pick<AuthorizationRequest, "scope">): boolean {
  return scope.includes("offline_access");
}

/** With `openid`, only `offline_access` gives refresh tokens (OIDC Core §11); plain OAuth clients get what they registered for. */
export function isRefreshable(client: Client, request: Pick<AuthorizationRequest, "scope">): boolean {
  const mayRefresh = client.metadata.grant_types.includes("refresh_token");
  return mayRefresh && (isOffline(request) || !request.scope.includes("openid"));
}

/** Every grant except an offline one ends with the session, for whatever reason the session ends (ADR 16). */
export function sessionGrant(
  client: Client,
  request: Pick<AuthorizationRequest, "scope">,
  { grantId, address, grantEndsAtMs: untilMs, family }: PlannedGrant,
): SessionGrant | undefined {
  if (isOffline(request)) return undefined;
  return isRefreshable(client, request)
    ? { grantId, address, untilMs, family }
    : { grantId, address, untilMs: rowUntilMs(family.tokensEndAtMs) };
}

/** Everything from the session, its proofs and the request that tokens of this login will contain. */
export function loginOf(
  { sub, sid }: Pick<Session, "sub" | "sid">,
  { acr, amr, atMs }: Authentication,
  subject: string,
  {
    claims,
    authorizationDetails,
    organization: orgId,
  }: Partial<Pick<AuthorizationRequest, "claims" | "authorizationDetails" | "organization">>,
): LoginContext {
  return {
    sub,
    pairwiseSub: subject === sub ? undefined : subject,
    sid,
    acr,
    amr,
    claims,
    authorizationDetails: formatDetails(authorizationDetails),
    authTimeSeconds: toSeconds(atMs),
    cnf: undefined,
    orgId,
  };
}
