import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { formatDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { LoginContext } from "@edge-op/protocol/oauth/login-context";
import type { Client } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { OpenDecision } from "@edge-op/shared/control/settle";
import { codeTokensEndAtMs } from "@edge-op/shared/grants/authorization-code-rpc";
import { grantEndsAtMs, newGrant } from "@edge-op/shared/grants/new-grant";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { GrantIdentity } from "@edge-op/shared/leases/grant-identity";
import { type GrantFamily, rowUntilMs } from "@edge-op/shared/leases/grant-revocation";
import type { Resource } from "@edge-op/shared/resources/resource";
import { saveOfflineGrant } from "@edge-op/shared/users/offline-grants";
import type { Session, SessionClient, SessionGrant } from "@edge-op/shared/users/session-rpc";
import { sessionVersion } from "@edge-op/shared/users/sessions";
import type { AuthEnv } from "../auth-env.ts";
import { findSignedInUser } from "../browser/find-signed-in-user.ts";
import type { AuthIsolate } from "../isolate.ts";
import type { AuthorizationRequest, CodeRequest } from "./checks/authorization-request.ts";
import type { CompletedSteps, InteractionKind } from "./interaction.ts";
import type { InteractionCheck, SignedIn } from "./interaction-check.ts";
import { needsAccountSelection } from "./needs-account-selection.ts";
import { isAllowed, needsConsent, requestedAllowances } from "./needs-consent.ts";
import { needsSignIn } from "./needs-sign-in.ts";
import { spendPushedRequest } from "./pushed-request.ts";

/** The checks in order. The first that requires an interaction determines the next page. */
const interactionChecks: readonly InteractionCheck[] = [needsSignIn, needsAccountSelection, needsConsent];

export interface Attempt {
  readonly client: Client;
  readonly request: CodeRequest;
  /** The id of the pushed request, if there was one. */
  readonly pushedId: string | undefined;
  readonly sessionId: string | undefined;
  readonly steps: CompletedSteps;
  readonly decision: OpenDecision;
}

export type Decision =
  | { readonly kind: "code"; readonly code: string }
  | { readonly kind: "interact"; readonly interaction: InteractionKind };

/**
 * **Decides a checked authorization request**: issues a code, or names the interaction that must come first. With `prompt=none`, an
 * interaction is a refusal (`OAuthError`). Cost of a silent response, warm: 2 object calls (use the session, store the code), 0 KV, 0 D1;
 * 1 more for the first code of a client in a session, 1 for a pushed request, and 1 D1 call if the consent is not in the session.
 */
export async function decideAuthorization(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  attempt: Attempt,
): Promise<Decision> {
  const { client, request, steps } = attempt;
  const resources = await isolate.resources.findAll(context, request.resources);
  const grant = await planGrant(context, isolate, attempt, resources);
  const signedIn = await findSignedIn(context, isolate, attempt, grant);
  const { redirectUri } = request;
  for (const check of interactionChecks) {
    const need = await check({ context, client, request, redirectUri, steps, signedIn });
    if (need === undefined) continue;
    if (request.prompt.includes("none")) throw new OAuthError(need.error, "prompt-none");
    return { kind: "interact", interaction: need.kind };
  }
  if (signedIn === undefined) throw new OAuthError("login_required", "nobody-signed-in");
  await attempt.decision.commit();
  const consented = client.metadata.skip_consent === true ? [] : requestedAllowances(request);
  await recordGrant(context, isolate, attempt, signedIn, grant, consented);
  await spendPushedRequest(context, isolate, attempt.pushedId);
  isolate.clients.noteUse(context, client);
  return { kind: "code", code: await issueCode(context, isolate, attempt, signedIn, grant) };
}

function isOffline({ scope }: Pick<AuthorizationRequest, "scope">): boolean {
  return scope.includes("offline_access");
}

/** With `openid`, only `offline_access` gives refresh tokens (OIDC Core §11); plain OAuth clients get what they registered for. */
export function isRefreshable(client: Client, request: Pick<AuthorizationRequest, "scope">): boolean {
  const mayRefresh = client.metadata.grant_types.includes("refresh_token");
  return mayRefresh && (isOffline(request) || !request.scope.includes("openid"));
}

/** Every grant except an offline one ends with the session, for whatever reason the session ends (ADR 16). */
function sessionGrant(
  context: RequestContext<AuthEnv>,
  { client, request }: Attempt,
  { grantId, address, grantCreatedAtMs, family }: PlannedGrant,
): SessionGrant | undefined {
  if (isOffline(request)) return undefined;
  return isRefreshable(client, request)
    ? { grantId, address, untilMs: grantEndsAtMs(context.settings, grantCreatedAtMs), family }
    : { grantId, address, untilMs: rowUntilMs(family.tokensEndAtMs) };
}

/** A new grant, and its refresh family if it has one: both are known in advance, so that ending the grant can end the family first (ADR 16). */
export interface PlannedGrant extends GrantIdentity {
  readonly family: GrantFamily;
  readonly tokenLifetimeSeconds: number;
}

/** `redeemableUntilMs` is for a device code; an authorization code is redeemable for a minute. */
export async function planGrant(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { client: { clientId, metadata }, sessionId }: Pick<Attempt, "client" | "sessionId">,
  resources: readonly Resource[],
  redeemableUntilMs?: number,
): Promise<PlannedGrant> {
  // The grant is based on the sign-in of the session, even if it is given much later.
  const signInVersion = sessionId === undefined ? undefined : sessionVersion(sessionId);
  const grant = await newGrant(context, isolate, { clientId, signInVersion });
  const { accessTokenLifetimeSeconds, idTokenLifetimeSeconds } = context.settings;
  const accessTokenSeconds = metadata.access_token_lifetime ?? accessTokenLifetimeSeconds;
  const ofResources = resources.map(({ metadata: rule }) => rule.access_token_lifetime ?? 0);
  const tokenLifetimeSeconds = Math.max(accessTokenSeconds, idTokenLifetimeSeconds, ...ofResources);
  const address = await isolate.shardMap.place(context, "refresh", grant.grantId);
  const tokensEndAtMs = codeTokensEndAtMs(redeemableUntilMs ?? grant.grantCreatedAtMs, tokenLifetimeSeconds);
  return { ...grant, family: { address, tokensEndAtMs }, tokenLifetimeSeconds };
}

async function findSignedIn(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  attempt: Attempt,
  grant: PlannedGrant,
): Promise<SignedIn | undefined> {
  const { client, sessionId } = attempt;
  if (sessionId === undefined) return undefined;
  const recorded = sessionGrant(context, attempt, grant);
  const found = await isolate.sessions.use(context, sessionId, client.clientId, recorded);
  const use = found && { ...found, client: sameRegistration(found.client, client) };
  const user = use && (await findSignedInUser(context, isolate, sessionId, use.session));
  if (use === undefined || user === undefined) return undefined;
  const subject = (await pairwiseSubject(context.env, client, user.sub)) ?? user.sub;
  return { sessionId, use, user, subject };
}

/** The client's record in the session, unless it belongs to a deleted client of the same id. */
function sameRegistration(known: SessionClient | undefined, { createdAtMs }: Client): SessionClient | undefined {
  return createdAtMs !== undefined && known?.registeredAtMs === createdAtMs ? known : undefined;
}

/** Records, before a code exists, the client that a logout must notify and the grant that a withdrawn consent must end. */
async function recordGrant(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  attempt: Attempt,
  { sessionId, use, user, subject }: SignedIn,
  grant: PlannedGrant,
  consented: readonly string[],
): Promise<void> {
  const { client, request } = attempt;
  // If the client's subject type or sector has changed, its logout notice must contain the subject of the new code.
  if (use.client?.subject !== subject || !isAllowed(use.client.consented, consented)) {
    const known = use.client?.consented ?? [];
    const { clientId, createdAtMs: registeredAtMs } = client;
    const admitted = { clientId, subject, consented: [...new Set([...known, ...consented])], registeredAtMs };
    const recorded = sessionGrant(context, attempt, grant);
    if (!(await isolate.sessions.admit(context, sessionId, admitted, recorded))) {
      throw new OAuthError("login_required", "session-ended");
    }
  }
  if (isOffline(request)) {
    const untilMs = grantEndsAtMs(context.settings, grant.grantCreatedAtMs);
    const { grantId, address, family } = grant;
    const offline = { grantId, address, untilMs, family, sub: user.sub, clientId: client.clientId };
    await saveOfflineGrant(context.env.DB, offline);
  }
}

async function issueCode(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  { client, request }: Attempt,
  signedIn: SignedIn,
  { family, tokenLifetimeSeconds, ...grant }: PlannedGrant,
): Promise<string> {
  return isolate.codes.issue(context, {
    ...loginOf(signedIn.use.session, signedIn.subject, request),
    grant,
    clientId: client.clientId,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    cnf: request.dpopThumbprint === undefined ? undefined : { method: "jkt", thumbprint: request.dpopThumbprint },
    scope: request.scope,
    resources: request.resources,
    nonce: request.nonce,
    refreshable: isRefreshable(client, request),
    familyAddress: family.address,
    tokenLifetimeSeconds,
  });
}

/** Everything from the session, the user and the request that tokens of this login will contain. */
export function loginOf(
  { sub, sid, acr, amr, signedInAtMs }: Session,
  subject: string,
  { claims, authorizationDetails }: Partial<Pick<AuthorizationRequest, "claims" | "authorizationDetails">>,
): LoginContext {
  return {
    sub,
    pairwiseSub: subject === sub ? undefined : subject,
    sid,
    acr,
    amr,
    claims,
    authorizationDetails: formatDetails(authorizationDetails),
    authTimeSeconds: toSeconds(signedInAtMs),
    cnf: undefined,
  };
}
