import { narrowDetails } from "@edge-op/protocol/oauth/authorization-details";
import { OAuthError, shownValue } from "@edge-op/protocol/oauth/errors";
import { authenticationEvent } from "@edge-op/protocol/oauth/login-context";
import { type TokenType, tokenTypes } from "@edge-op/protocol/oauth/registered-names";
import { intersectScope, parseScope } from "@edge-op/protocol/oauth/scope";
import { listAllows, type TokenExchangePolicy } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { requestedDetails, requireAdminScope } from "@edge-op/shared/clients/requested-access";
import { allowsAudience, allowsScope, allowsTarget, checkResources } from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import type { FormReader } from "@edge-op/shared/http/read-form";
import type { TokenId } from "@edge-op/shared/storage/shard-address";
import { revocationSubjects } from "@edge-op/shared/tokens/access-token";
import { nextActor, requireActor, requireMayAct } from "../exchange/actors.ts";
import { type DueIdJag, decideIdJag, issueIdJag } from "../exchange/exchange-id-jag.ts";
import { type ExchangeParty, readExchangeParty } from "../exchange/exchange-party.ts";
import { defineGrantModule, type GrantRequest } from "../grant-module.ts";
import { findActiveUser, refuseOtherOrganization } from "../issuing/find-active-user.ts";
import { type DueToken, issueDueToken, unacceptableToken } from "../issuing/issue-due-token.ts";
import {
  type DescribedTarget,
  defaultTarget,
  namedValues,
  resolveTarget,
  type Target,
} from "../issuing/requested-target.ts";
import { isBindingProven } from "../issuing/require-proof.ts";
import { findNamed, findResources, lifetimeSeconds, requireUsable } from "../issuing/resource-rules.ts";

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
  "organization",
] as const;

type ExchangeRequest = GrantRequest<(typeof parameters)[number]>;

/**
 * **Token exchange**: a subject token, perhaps with an actor token, for a token that allows no more: the scope is intersected,
 * the lifetime bounded by the subject's, the grant inherited. Default deny by the client's `token_exchange` policy.
 * Cost warm: 0 calls, 1 verification (2 with actor, 0 when seen before), 1 signature (`direct`: 1 object call a shard).
 *
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-2
 */
export const tokenExchange = defineGrantModule({
  type: "urn:ietf:params:oauth:grant-type:token-exchange",
  parameters,
  credentials: ["subject_token", "actor_token"],
  decide: (request: ExchangeRequest): Promise<DueToken | DueIdJag> =>
    request.form.get("requested_token_type") === tokenTypes.idJag ? decideIdJag(request) : decide(request),
  issue: (request, due) => ("idJag" in due ? issueIdJag(request, due) : issueDueToken(request, due)),
});

async function decide(request: ExchangeRequest): Promise<DueToken> {
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
  refuseOtherOrganization(form, subject.orgId);
  // An actor acts for its own organisation, if it has one.
  if (actor?.orgId !== undefined && actor.orgId !== subject.orgId) throw unacceptableToken("organization-parameter");
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
    subject.forUser ? findActiveUser(request, subject.sub, subject.orgId, "invalid_request") : undefined,
    subject.forUser ? pairwiseSubject(context.env, client, subject.sub) : undefined,
  ]);
  const parties = actor === undefined ? [subject] : [subject, actor];
  return {
    content: {
      ...target,
      ...authenticationEvent(subject),
      sub: subject.sub,
      orgId: subject.orgId,
      pairwiseSub,
      forUser: subject.forUser,
      grantClientId: subject.grantClientId,
      viaClientIds: [...nextVia(subject), ...(actor?.external?.parties ?? [])],
      lineage,
      scope,
      authorizationDetails,
      act,
      mayAct: subject.mayAct,
      rbac: user?.rbac,
      username: user?.username,
      attributes: user?.attributes,
    },
    described,
    lifetime: { lifetimeSeconds: lifetimeSeconds(request, described), notAfterSeconds: subject.expiresAtSeconds },
    grant: subject.id,
    presented: parties.filter(isOwn).flatMap(revocationSubjects),
    issuedTokenType,
    repeatableUntilMs: Math.min(...parties.map(repeatableUntilMs)),
  };
}

function isOwn(party: ExchangeParty): party is ExchangeParty & { readonly id: TokenId } {
  return party.id !== undefined;
}

/** A trusted issuer has its own keys, which may change at any time. */
function repeatableUntilMs({ external, expiresAtSeconds }: ExchangeParty): number {
  return external === undefined ? expiresAtSeconds * 1000 : 0;
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

/** The ids from which this token descends, so that revoking any of them ends it. */
function nextLineage(subject: ExchangeParty): readonly string[] {
  if (subject.id === undefined) return [];
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
  const asked = parseScope(form.get("scope"));
  const requested = asked ?? subject.scope;
  const allowed = subject.scope.filter((value) => allowsScope(policy.scopes, value));
  if (asked !== undefined) requireAdminScope(asked, allowed);
  const scope = intersectScope(requested, allowed);
  if (scope.length === 0) {
    throw new OAuthError("invalid_scope", "scope-empty", {
      description: `Neither the subject_token nor the client's policy allows any of: ${shownValue(requested.join(" "))}.`,
    });
  }
  return scope;
}

/**
 * **The target of an exchange** and the resources in it. Without a request, it is the subject's audiences that the policy names, or else the client's
 * default if the policy names it.
 */
export async function exchangeTarget(
  request: GrantRequest<"audience" | "resource">,
  subject: ExchangeParty,
  policy: TokenExchangePolicy,
): Promise<Pick<DescribedTarget, "target" | "described">> {
  const { context, client, form } = request;
  const { issuer } = context.settings;
  const fallback = defaultTarget(client, issuer);
  const registered = [...policy.audiences, ...policy.resources];
  const { named, found: ofNamed } = await findNamed(request, namedValues(form), registered);
  const kept = [...subject.audiences, ...fallback.audiences].filter((value) => !named.includes(value));
  const candidates = [...new Set([...named, ...kept])];
  const found = [...ofNamed, ...(await findResources(request, [...new Set(kept)]))];
  const checked = checkResources(client, candidates, found);
  const { rule } = subject.external ?? {};
  // The requested target of a trusted issuer's token is within its rule; otherwise the rule would not match.
  const isRuled = (value: string) => rule === undefined || allowsAudience(rule.audiences, value, issuer);
  const isAudience = (value: string) =>
    allowsTarget({ audiences: policy.audiences, issuer, openid: false, checked }, value);
  const isResource = (value: string) =>
    allowsTarget({ audiences: policy.resources, issuer, openid: false, checked }, value);
  const target =
    resolveTarget(form, { isAudience, isResource, named }) ??
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
