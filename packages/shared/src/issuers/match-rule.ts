import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { listAllows } from "../clients/client.ts";
import { allowsAudience } from "../clients/token-targets.ts";
import { refuseClaim } from "./match-claims.ts";
import type { IssuerRule, TokenUse } from "./trusted-issuer.ts";

/** **The presentation of a token**: its use, the authenticated client, and the targets. */
export interface Presentation {
  readonly use: TokenUse;
  /** `undefined` without client authentication. */
  readonly clientId: string | undefined;
  /** The targets that the request, or an ID-JAG, names. */
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
}

/** The reasons why a rule does not apply. `target` is true if only the requested targets prevent it. */
export interface RuleRefusal {
  readonly reasons: readonly string[];
  readonly target: readonly string[];
}

/** Pure. A rule applies if both lists of reasons are empty. */
export function refuseRule(
  rule: IssuerRule,
  claims: JwtClaims,
  presentation: Presentation,
  ownIssuer: string,
): RuleRefusal {
  const { use, clientId } = presentation;
  const reasons: string[] = [];
  if (rule.status !== "active") reasons.push("the rule is disabled");
  if (!rule.uses.includes(use)) reasons.push(`the rule does not accept the use ${use}`);
  const isStatement = use === "software_statement";
  if (isStatement) {
    // A software statement has neither a presenting client nor a target.
  } else if (clientId === undefined) {
    if (use !== "assertion") reasons.push(`the use ${use} needs client authentication`);
    else if (rule.client_id === undefined)
      reasons.push("the rule names no client_id for requests without client authentication");
  } else if (!isPresenter(rule, clientId, use)) reasons.push(`the rule does not name ${clientId} as a client`);
  for (const [name, claimRule] of Object.entries(rule.claims)) {
    const refusal = refuseClaim(claims, name, claimRule);
    if (refusal !== undefined) reasons.push(refusal);
  }
  return { reasons, target: isStatement ? [] : refuseTargets(rule, presentation, ownIssuer) };
}

/** A service client that authenticates may present an assertion for itself; any other client must be named in `clients`. */
function isPresenter(rule: IssuerRule, clientId: string, use: TokenUse): boolean {
  if (use === "assertion" && rule.subject.type !== "user") return rule.client_id === clientId;
  return listAllows(rule.clients ?? [], clientId) || (use === "assertion" && rule.client_id === clientId);
}

function refuseTargets(rule: IssuerRule, { audiences, resources }: Presentation, ownIssuer: string): string[] {
  return [
    ...audiences
      .filter((audience) => !allowsAudience(rule.audiences, audience, ownIssuer))
      .map((audience) => `audience ${audience} is not among the rule's audiences`),
    ...resources
      .filter((resource) => !allowsAudience(rule.resources, resource, ownIssuer))
      .map((resource) => `resource ${resource} is not among the rule's resources`),
  ];
}

/** The first rule that applies, or the reason why none does: only the requested targets, or the rules in general. */
export type RuleMatch =
  | { readonly kind: "rule"; readonly rule: IssuerRule }
  | { readonly kind: "target"; readonly reason: string }
  | { readonly kind: "none"; readonly reason: string };

export function matchRules(
  rules: readonly IssuerRule[],
  claims: JwtClaims,
  presentation: Presentation,
  ownIssuer: string,
): RuleMatch {
  const refused: string[] = [];
  let isTarget = false;
  for (const rule of rules) {
    const { reasons, target } = refuseRule(rule, claims, presentation, ownIssuer);
    if (reasons.length + target.length === 0) return { kind: "rule", rule };
    isTarget ||= reasons.length === 0;
    refused.push(`${rule.rule_id}: ${[...reasons, ...target].join(", ")}`);
  }
  return { kind: isTarget ? "target" : "none", reason: `no rule matches (${refused.join("; ")})`.slice(0, 1_000) };
}
