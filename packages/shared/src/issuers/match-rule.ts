import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import { listAllows } from "../clients/client.ts";
import { allowsAudience } from "../clients/token-targets.ts";
import type { RequestContext } from "../http/request-context.ts";
import { peopleOf } from "../storage/people.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { UserDirectory } from "../users/user-directory.ts";
import { canonicalUsername } from "../users/username.ts";
import { matchesGlob } from "./glob.ts";
import type { ClaimRule, IssuerRule, TokenUse, TrustedIssuer } from "./trusted-issuer.ts";

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
interface RuleRefusal {
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
type RuleMatch =
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

/**
 * **Whether a claim satisfies a rule.** Values are compared with their types: a number never equals its text, a list never matches a rule for one
 * value, and only own members of an object count, so that a claim of one form cannot pass for another.
 */
export function refuseClaim(claims: JwtClaims, name: string, rule: ClaimRule): string | undefined {
  const value = claimAt(claims, name);
  if (value === undefined) return `claim ${name} is missing`;
  return matchesClaim(value, rule) ? undefined : `claim ${name} does not match ${describeRule(rule)}`;
}

function matchesClaim(value: unknown, rule: ClaimRule): boolean {
  if ("exact" in rule) return value === rule.exact;
  if ("one_of" in rule) return rule.one_of.some((allowed) => value === allowed);
  if ("contains" in rule) return Array.isArray(value) && value.includes(rule.contains);
  if (typeof value !== "string") return false;
  return "prefix" in rule ? value.startsWith(rule.prefix) : matchesGlob(rule.glob, value);
}

function describeRule(rule: ClaimRule): string {
  return JSON.stringify(rule);
}

/** A claim by its name, or a nested member by a JSON pointer (RFC 6901 §4). */
function claimAt(claims: JwtClaims, name: string): unknown {
  if (!name.startsWith("/")) return ownMember(claims, name);
  let value: unknown = claims;
  for (const token of name.slice(1).split("/")) {
    value = ownMember(value, token.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  return value;
}

/** Reads members of objects only: a rule cannot name members of a list. */
function ownMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined;
  return (value as JwtClaims)[name];
}

/** The subject of a token at this provider. The `sub` of a client is its id, that of a workload `{issuer_id}/{sub}`, which no client or user has. */
type ResolvedSubject =
  | { readonly kind: "subject"; readonly sub: string; readonly forUser: boolean }
  | { readonly kind: "refused"; readonly reason: string };

/** An agent's identifier is opaque text (draft-carleton-workload-authz-grant-02 §4). */
const workloadName = /^[\x21-\x7e]{1,255}$/;

/**
 * **The user, workload or service client that a rule maps a token to.** Only active users count; a client's status is checked where the client is
 * used. Cost warm: 0 calls; by `username` 1 D1 call.
 */
export async function resolveSubject(
  context: RequestContext<StorageBindings>,
  { users }: { readonly users: UserDirectory },
  { issuerId }: Pick<TrustedIssuer, "issuerId">,
  rule: Pick<IssuerRule, "subject" | "client_id">,
  claims: JwtClaims,
): Promise<ResolvedSubject> {
  const { subject } = rule;
  if (subject.type !== "user") {
    if (rule.client_id === undefined) return { kind: "refused", reason: "the rule maps to no client" };
    if (subject.type === "client") return { kind: "subject", sub: rule.client_id, forUser: false };
    const { sub: name } = claims;
    if (typeof name !== "string" || !workloadName.test(name))
      return { kind: "refused", reason: "sub is not 1 to 255 visible ASCII characters" };
    return { kind: "subject", sub: `${issuerId}/${name}`, forUser: false };
  }
  const sub = "sub" in subject ? subject.sub : await findMapped(context, subject, claimAt(claims, subject.claim));
  const user = sub === undefined ? undefined : await users.find(context, sub);
  if (user === undefined) return { kind: "refused", reason: "the rule maps to no user" };
  return user.status === "active"
    ? { kind: "subject", sub: user.sub, forUser: true }
    : { kind: "refused", reason: "the user is suspended" };
}

/** Longer texts are not names of users (OIDC Core §2). */
const longestName = 255;

async function findMapped(
  context: RequestContext<StorageBindings>,
  { by }: { readonly by: "sub" | "username" },
  value: unknown,
): Promise<string | undefined> {
  if (typeof value !== "string" || value === "" || value.length > longestName) return undefined;
  if (by === "sub") return value;
  const select = peopleOf(context.env.DB).prepare("SELECT sub FROM users WHERE username_key = ?1");
  const row = await queryDatabase(() => select.bind(canonicalUsername(value) ?? null).first<{ sub: string }>());
  return row?.sub;
}
