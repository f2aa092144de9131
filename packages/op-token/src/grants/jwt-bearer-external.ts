import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RefusalReason } from "@edge-op/protocol/oauth/refusal-reasons";
import { parseScope } from "@edge-op/protocol/oauth/scope";
import { type Client, registeredScope } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import { requestedScope, requireAdminScope } from "@edge-op/shared/clients/requested-access";
import {
  allowsAudience,
  allowsScope,
  allowsTarget,
  checkResources,
  resourceCaller,
  tokenTargets,
} from "@edge-op/shared/clients/token-targets";
import { limits } from "@edge-op/shared/config/limits";
import { Form, type FormReader } from "@edge-op/shared/http/read-form";
import type { TokenUse } from "@edge-op/shared/issuers/trusted-issuer";
import { admitsClient, namesClient, type Resource, scopesOf } from "@edge-op/shared/resources/resource";
import { readForeignMayAct } from "../external/accept-token.ts";
import { type AcceptedAssertion, acceptAssertion } from "../external/external-assertion.ts";
import type { GrantRequest } from "../grant-module.ts";
import { findActiveUser } from "../issuing/find-active-user.ts";
import type { DueToken } from "../issuing/issue-due-token.ts";
import { type DescribedTarget, requestedTarget } from "../issuing/requested-target.ts";
import { isBindingProven } from "../issuing/require-proof.ts";
import { findResources, lifetimeSeconds } from "../issuing/resource-rules.ts";

type ExternalRequest = GrantRequest<"assertion" | "scope" | "audience" | "resource" | "authorization_details">;

/**
 * **Issues tokens for an assertion of a trusted issuer**, within its rule and the client's registration; for an ID-JAG, also within its own scope and
 * resources. The grant belongs to the issuer and its rule, so that disabling either ends it. Cost warm: 1 object call for the `jti` (0 with
 * `reusable_assertions`), 1 verification, 1 signature.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.1
 */
export async function decideExternalAssertion(request: ExternalRequest): Promise<DueToken> {
  const { context, isolate, client, form } = request;
  const accepted = request.accepted ?? (await acceptAssertion(context, isolate, form, client));
  const { sub, forUser, rule, claims, parties } = accepted;
  requireProven(request, accepted);
  if (form.get("authorization_details") !== undefined) {
    throw new OAuthError("invalid_authorization_details", "details-by-issuer-rule");
  }
  const { target, described } = await assertedTarget(request, accepted);
  const scope = allowedScope(
    parseScope(form.get("scope")),
    client,
    offeredScope(client, accepted, described),
    accepted,
  );
  const mayAct = readForeignMayAct(claims, context.settings.issuer, invalidGrant);
  const [user, pairwiseSub] = await Promise.all([
    forUser ? findActiveUser(request, sub, undefined) : undefined,
    forUser ? pairwiseSubject(context.env, client, sub) : undefined,
  ]);
  const ruledSeconds = rule.access_token_lifetime ?? Number.POSITIVE_INFINITY;
  return {
    content: {
      ...target,
      sub,
      pairwiseSub,
      scope,
      forUser,
      mayAct,
      grantClientId: parties[0],
      viaClientIds: [parties[1]],
      rbac: user?.rbac,
      username: user?.username,
      attributes: user?.attributes,
    },
    described,
    lifetime: { lifetimeSeconds: Math.min(lifetimeSeconds(request, described), ruledSeconds) },
    assertion: isReusable(accepted) ? undefined : { clientId: parties[0], claims },
  };
}

function invalidGrant(reason: RefusalReason, detail?: string): OAuthError {
  return new OAuthError("invalid_grant", reason, { detail });
}

/** A bound assertion needs the proof of its key (RFC 7800 §3). The token is bound to what this request proves, never to a claim. */
function requireProven(request: ExternalRequest, { cnf }: AcceptedAssertion): void {
  if (cnf === undefined || isBindingProven(request, cnf)) return;
  throw invalidGrant("issued-token-bound");
}

/** Without a user, `openid` has no meaning, and these grants have no refresh tokens. */
function isMeaningful(value: string, forUser: boolean): boolean {
  return value !== "offline_access" && (forUser || value !== "openid");
}

/**
 * The client's registered scope and the scopes of the resources: for a user, of the resources that admit the client; for a service client, of those
 * that name it. The rule limits both.
 */
function offeredScope(client: Client, { rule, forUser }: AcceptedAssertion, described: readonly Resource[]): string[] {
  const caller = resourceCaller(client);
  const giving = described.filter((resource) =>
    forUser ? admitsClient(resource, caller) : namesClient(resource, caller),
  );
  const values = new Set([...registeredScope(client), ...scopesOf(giving)]);
  return [...values].filter((value) => allowsScope(rule.scopes, value) && isMeaningful(value, forUser));
}

/**
 * The requested scope, of which each value must be allowed; without a request, everything that is allowed. An ID-JAG and a workload's assertion also
 * limit the scope; values beyond it are dropped (ID-JAG draft §4.4.2, draft-carleton-workload-authz-grant-02 §5.1).
 */
function allowedScope(
  asked: readonly string[] | undefined,
  client: Client,
  allowed: readonly string[],
  { use, rule, claims }: AcceptedAssertion,
): readonly string[] {
  const isWorkload = rule.subject.type === "workload";
  if (use !== "id_jag" && !isWorkload) return requestedScope(client, asked ?? allowed, allowed, "scope-not-allowed");
  requireAdminScope(asked ?? [], allowed);
  const asserted = readScopeClaim(claims["scope"], use);
  const within = (values: readonly string[] | undefined, value: string) => values?.includes(value) !== false;
  const scope = allowed.filter((value) => within(asserted, value) && within(asked, value));
  if (scope.length === 0 && (asserted ?? asked) !== undefined) {
    throw new OAuthError("invalid_scope", "scope-empty");
  }
  return scope;
}

function readScopeClaim(claim: unknown, use: TokenUse): readonly string[] | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim !== "string") throw invalidGrant(use === "id_jag" ? "id-jag-malformed" : "issued-token-claims");
  return claim.split(" ").filter((value) => value !== "");
}

/** The requested target; otherwise the rule's first target that the client may have, or the client's default. Always within the rule. */
async function assertedTarget(request: ExternalRequest, accepted: AcceptedAssertion): Promise<DescribedTarget> {
  const { rule, audiences, resources } = accepted;
  const { issuer } = request.context.settings;
  const isNamed = audiences.length + resources.length > 0;
  const form = isNamed ? targetForm(audiences, resources) : await firstTarget(request, accepted);
  const found = await requestedTarget({ ...request, form });
  const isWithin = found.target.audiences.every(
    (value) => allowsAudience(rule.audiences, value, issuer) || allowsAudience(rule.resources, value, issuer),
  );
  if (!isWithin) throw new OAuthError("invalid_target", "target-missing");
  return found;
}

async function firstTarget(request: ExternalRequest, { rule }: AcceptedAssertion) {
  const { client, context } = request;
  const candidates = [...rule.resources, ...rule.audiences].filter((value) => value !== "*").slice(0, limits.audiences);
  const checked = checkResources(client, candidates, await findResources(request, candidates));
  const targets = { ...tokenTargets(client, context.settings.issuer), checked };
  const first = candidates.find((value) => allowsTarget(targets, value));
  if (first === undefined) return targetForm([], []);
  return rule.resources.includes(first) ? targetForm([], [first]) : targetForm([first], []);
}

function targetForm(audiences: readonly string[], resources: readonly string[]): FormReader<"audience" | "resource"> {
  return new Form(
    new Map([
      ["audience", audiences],
      ["resource", resources],
    ]),
  );
}

/** The issuer's `jti` is spent unless its assertions are reusable; that of an ID-JAG is always spent (draft §9.2). */
function isReusable({ issuer, use }: AcceptedAssertion): boolean {
  return use === "assertion" && issuer.document.reusable_assertions;
}
