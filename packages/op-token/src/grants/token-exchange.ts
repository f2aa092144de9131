import { limits } from "@edge-op/shared/config/limits";
import { type Client, listAllows, type TokenExchangePolicy } from "@edge-op/shared/directory/client";
import { pairwiseSubject } from "@edge-op/shared/directory/pairwise-subject";
import { allowsAudience, allowsScope, allowsTarget, checkResources } from "@edge-op/shared/directory/policy-list";
import { requestedDetails } from "@edge-op/shared/directory/requested-details";
import type { FormReader } from "@edge-op/shared/http/read-form";
import { narrowDetails } from "@edge-op/shared/oauth/authorization-details";
import { OAuthError } from "@edge-op/shared/oauth/errors";
import { authenticationEvent } from "@edge-op/shared/oauth/login-context";
import { parseScope } from "@edge-op/shared/oauth/scope";
import { shownValue } from "@edge-op/shared/oauth/shown-value";
import { type TokenType, tokenTypes } from "@edge-op/shared/oauth/token-types";
import { revocationSubjects } from "@edge-op/shared/tokens/access-token";
import type { ActorClaim } from "@edge-op/shared/tokens/access-token-content";
import { defineGrant, type GrantRequest, type Remember, type RepeatedRequest, type TokenResponse } from "../grant.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import { issueAccessToken, planAccessToken } from "../issuing/issue-access-token.ts";
import {
  type DescribedTarget,
  defaultTarget,
  namedValues,
  resolveTarget,
  type Target,
} from "../issuing/requested-target.ts";
import { findResources, lifetimeSeconds, requireUsable } from "../issuing/resource-rules.ts";
import { issueIdJag } from "./exchange-id-jag.ts";
import type { ExchangeParty } from "./exchange-party.ts";
import { isBindingProven } from "./prove-binding.ts";
import { readExchangeParty } from "./read-exchange-party.ts";
import { unacceptableToken } from "./unacceptable-token.ts";

const parameters = [
  "subject_token",
  "subject_token_type",
  "actor_token",
  "actor_token_type",
  "requested_token_type",
  "scope",
  "audience",
  "resource",
  "authorization_details",
] as const;

type ExchangeRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Token exchange**: a subject token, perhaps with an actor token, for a token that allows no more: the scope is intersected,
 * the lifetime bounded by the subject's, the grant inherited. Default deny by the client's `token_exchange` policy.
 * Cost warm: 0 calls, 1 verification (2 with actor, 0 when seen before), 1 signature (`direct`: 1 object call a shard).
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-2
 */
export const tokenExchange = defineGrant({
  type: "urn:ietf:params:oauth:grant-type:token-exchange",
  parameters,
  async issue(request: ExchangeRequest, remember: Remember<Plan>) {
    if (request.form.get("requested_token_type") === tokenTypes.idJag) return issueIdJag(request);
    const plan = await decide(request);
    if (plan.endsAtMs !== undefined) remember(plan, plan.endsAtMs);
    return carryOut(request, plan);
  },
  issueAgain: carryOut,
});

type Plan = Awaited<ReturnType<typeof decide>>;

async function decide(request: ExchangeRequest) {
  const { context, client, form } = request;
  const policy = client.metadata.token_exchange;
  if (policy === undefined) throw new OAuthError("unauthorized_client", "exchange-policy-missing");
  const issuedTokenType = requestedTokenType(form);
  const { subject, actor } = await readParties(request);
  const mode = actor === undefined ? "impersonation" : "delegation";
  if (!policy.modes.includes(mode))
    throw new OAuthError("unauthorized_client", "exchange-mode", { detail: `${mode} is not allowed by the policy` });
  requirePresentable(subject, policy);
  requireProven(request, subject, policy);
  if (actor !== undefined) {
    requireActor(actor, subject, client, policy);
    requireProven(request, actor, policy);
  }
  requireMayAct(request, subject, actor);
  const lineage = nextLineage(subject);
  const scope = narrowedScope(form, subject, policy);
  const authorizationDetails = narrowDetails(
    subject.authorizationDetails,
    requestedDetails(context.settings, client, form.get("authorization_details")),
    client.metadata.authorization_details_types,
  );
  const { target, described } = await exchangeTarget(request, subject, policy);
  const [act, user, pairwiseSub] = await Promise.all([
    nextActor(request, subject, actor),
    subject.forUser ? findActiveUser(request, subject.sub, "invalid_request") : undefined,
    subject.forUser ? pairwiseSubject(context.env, client, subject.sub) : undefined,
  ]);
  const { sub, forUser, grantClientId, mayAct } = subject;
  return {
    subjects: [subject, ...(actor === undefined ? [] : [actor])].flatMap(revocationSubjects),
    grant: subject.id,
    lifetime: { lifetimeSeconds: lifetimeSeconds(request, described), notAfterSeconds: subject.expiresAtSeconds },
    content: {
      ...target,
      ...authenticationEvent(subject),
      ...{ sub, forUser, grantClientId, mayAct, pairwiseSub, lineage, scope, act },
      viaClientIds: [...nextVia(subject), ...(actor?.external?.parties ?? [])],
      authorizationDetails,
      rbac: user?.rbac,
      username: user?.username,
    },
    described,
    issuedTokenType,
    /** When one of the presented tokens ends; `undefined` if one is of another issuer, which has rules and keys of its own. */
    endsAtMs: [subject, actor].some((party) => party?.external !== undefined)
      ? undefined
      : Math.min(subject.expiresAtSeconds, actor?.expiresAtSeconds ?? Number.POSITIVE_INFINITY) * 1000,
  };
}

async function carryOut(request: RepeatedRequest, plan: Plan): Promise<TokenResponse> {
  const { context, isolate } = request;
  if (await isolate.revocation.isRevoked(context, plan.subjects)) throw unacceptableToken("subject-token-revoked");
  await request.confirm();
  const content = { ...planAccessToken(request, plan.grant, plan.lifetime), ...plan.content };
  return issueAccessToken(request, content, plan.described, plan.issuedTokenType);
}

function requestedTokenType(form: FormReader<"requested_token_type">): TokenType {
  const requested = form.get("requested_token_type") ?? tokenTypes.accessToken;
  if (requested === tokenTypes.accessToken || requested === tokenTypes.jwt) return requested;
  throw new OAuthError("invalid_request", "token-type-unsupported", {
    description: "The requested_token_type is not supported.",
  });
}

async function readParties(request: ExchangeRequest) {
  const { form } = request;
  const subjectToken = form.require("subject_token");
  const subjectType = form.require("subject_token_type");
  const actorToken = form.get("actor_token");
  const actorType = form.get("actor_token_type");
  if ((actorToken === undefined) !== (actorType === undefined)) {
    throw new OAuthError("invalid_request", "actor-token-incomplete", {
      description: "actor_token and actor_token_type must be given together.",
    });
  }
  const [subject, actor] = await Promise.all([
    readExchangeParty(request, { token: subjectToken, type: subjectType, use: "subject_token" }),
    actorToken === undefined || actorType === undefined
      ? undefined
      : readExchangeParty(request, { token: actorToken, type: actorType, use: "actor_token" }),
  ]);
  return { subject, actor };
}

/** The client may present tokens of the clients that its policy names. A trusted issuer's rule has named the client itself. */
function requirePresentable(subject: ExchangeParty, policy: TokenExchangePolicy): void {
  if (subject.external === undefined && !listAllows(policy.subject_clients, subject.clientId)) {
    throw unacceptableToken("subject-token-of-other-client", `of ${subject.clientId}`);
  }
}

/**
 * A bound token needs the proof of its key (RFC 7800 §3), unless the policy trusts the client, as a resource server, to have verified the
 * proof that the token was presented with.
 */
function requireProven(request: GrantRequest, { cnf }: ExchangeParty, policy: TokenExchangePolicy): void {
  if (cnf === undefined || policy.accepts_bound_tokens === true) return;
  if (!isBindingProven(request, cnf)) throw unacceptableToken("subject-token-bound");
}

/**
 * The actor is another party than the subject: a client with its own token, or a client whose tokens it may present, or a user there.
 * The subject as its own actor would be impersonation under the name of delegation. A token that is itself delegated acts for no one.
 */
function requireActor(actor: ExchangeParty, subject: ExchangeParty, client: Client, policy: TokenExchangePolicy): void {
  if (actor.sub === subject.sub) throw unacceptableToken("actor-is-subject");
  const isOwn = actor.external !== undefined || actor.clientId === client.clientId;
  if (!isOwn && !listAllows(policy.subject_clients, actor.clientId)) {
    throw unacceptableToken("actor-not-allowed", `an actor token of ${actor.clientId}`);
  }
  if (actor.act !== undefined) throw unacceptableToken("actor-token-delegated");
}

/** Where the subject names who may act (RFC 8693 §4.4), the actor, or without one the client, must be that party. */
function requireMayAct(
  { context, client }: GrantRequest,
  subject: ExchangeParty,
  actor: ExchangeParty | undefined,
): void {
  if (subject.mayAct === undefined) return;
  const clientId = actor === undefined ? client.clientId : shownClientId(actor);
  const acting = { sub: actor?.sub ?? client.clientId, client_id: clientId };
  const { sub, client_id: named, iss, ...others } = subject.mayAct;
  const isNamed = sub !== undefined || named !== undefined;
  const matches =
    isNamed &&
    (sub === undefined || sub === acting.sub) &&
    (named === undefined || named === acting.client_id) &&
    // The same name at another issuer is another party.
    (iss === undefined || iss === context.settings.issuer) &&
    Object.keys(others).length === 0;
  if (!matches) throw unacceptableToken("may-act-differs");
}

/** The newest actor is outermost; earlier ones nest inside it and decide nothing (RFC 8693 §4.1). */
async function nextActor(
  request: GrantRequest,
  subject: ExchangeParty,
  actor: ExchangeParty | undefined,
): Promise<ActorClaim | undefined> {
  const earlier = await shownActors(request, subject.act);
  if (actor === undefined) return earlier;
  let depth = 1;
  for (let each = earlier; each !== undefined; each = each.act) depth += 1;
  if (depth > limits.actorDepth) throw unacceptableToken("actors-too-many", `${depth} actors`);
  if (actor.forUser) await findActiveUser(request, actor.sub, "invalid_request");
  const clientId = shownClientId(actor);
  return shownActor(request, { sub: actor.sub, ...(clientId === undefined ? {} : { client_id: clientId }) }, earlier);
}

/** The client of an actor. That of a trusted issuer has one only if it stands for a service client. */
function shownClientId({ external, clientId, forUser, sub }: ExchangeParty): string | undefined {
  if (external === undefined) return clientId;
  return forUser ? undefined : sub;
}

/** The actors of the subject token, as this client may know them. */
async function shownActors(request: GrantRequest, actor: ActorClaim | undefined): Promise<ActorClaim | undefined> {
  if (actor === undefined) return undefined;
  const { act, ...newest } = actor;
  return shownActor(request, newest, await shownActors(request, act));
}

/**
 * To a pairwise client an acting user is shown by a pairwise subject too (OIDC Core §8.1): another client's `sub` of them, which an earlier
 * actor has, would name them across sectors. A client that acts for itself is its own subject.
 */
async function shownActor(
  { context, client }: GrantRequest,
  { sub, ...rest }: Omit<ActorClaim, "act">,
  act: ActorClaim | undefined,
): Promise<ActorClaim> {
  const shownSub = sub === rest.client_id ? undefined : await pairwiseSubject(context.env, client, sub);
  return { sub: shownSub ?? sub, ...rest, ...(act === undefined ? {} : { act }) };
}

/** The ids this token descends by, so that revoking any of them ends it. */
function nextLineage(subject: ExchangeParty): readonly string[] {
  if (subject.external !== undefined) return [];
  const lineage = [...subject.lineage, subject.id.random];
  if (lineage.length > limits.actorDepth)
    throw unacceptableToken("actors-too-many", `${lineage.length} exchanges in a row`);
  return lineage;
}

/** The clients between the grant's and the one that exchanges now, so that cutting off any of them ends the token. */
function nextVia({ clientId, grantClientId, viaClientIds }: ExchangeParty): readonly string[] {
  return clientId === grantClientId || viaClientIds.includes(clientId) ? viaClientIds : [...viaClientIds, clientId];
}

/** The requested scope within the subject's and the policy's, never empty. Without a request it is the subject's within the policy's. */
function narrowedScope(form: FormReader<"scope">, subject: ExchangeParty, policy: TokenExchangePolicy): string[] {
  const requested = parseScope(form.get("scope")) ?? subject.scope;
  const scope = requested.filter((value) => subject.scope.includes(value) && allowsScope(policy.scopes, value));
  if (scope.length === 0) {
    throw new OAuthError("invalid_scope", "scope-empty", {
      description: `Neither the subject_token nor the client's policy allows any of: ${shownValue(requested.join(" "))}.`,
    });
  }
  return scope;
}

/**
 * The target and the resources in it. Without a request: the subject's audiences that the policy names, else the client's default if the
 * policy names it.
 */
async function exchangeTarget(
  request: ExchangeRequest,
  subject: ExchangeParty,
  policy: TokenExchangePolicy,
): Promise<Pick<DescribedTarget, "target" | "described">> {
  const { context, client, form } = request;
  const { issuer } = context.settings;
  const fallback = defaultTarget(client, issuer);
  const candidates = [...new Set([...namedValues(form), ...subject.audiences, ...fallback.audiences])];
  const found = await findResources(request, candidates);
  const checked = checkResources(client, candidates, found);
  const { rule } = subject.external ?? {};
  // What is requested of a trusted issuer's token is within its rule, or the rule would not match.
  const isRuled = (value: string) => rule === undefined || allowsAudience(rule.audiences, value, issuer);
  const isAudience = (value: string) =>
    allowsTarget({ audiences: policy.audiences, issuer, openid: false, checked }, value);
  const isResource = (value: string) =>
    allowsTarget({ audiences: policy.resources, issuer, openid: false, checked }, value);
  const target =
    resolveTarget(form, { isAudience, isResource }) ??
    keptTarget(subject, fallback, (value) => isAudience(value) && isRuled(value));
  const described = found.filter(({ identifier }) => target.audiences.includes(identifier));
  requireUsable(request, described);
  return { target, described };
}

function keptTarget(subject: ExchangeParty, fallback: Target, isAudience: (value: string) => boolean): Target {
  const kept = subject.audiences.filter(isAudience);
  if (kept.length > 0) return { audiences: kept, resources: [] };
  if (!fallback.audiences.every(isAudience)) {
    throw new OAuthError("invalid_target", "target-missing");
  }
  return fallback;
}
