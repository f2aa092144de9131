import type { JwtClaims } from "@edge-op/protocol/jwt/decode-claims";
import type { RequestContext } from "../http/request-context.ts";
import { queryDatabase } from "../storage/query-database.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { UserDirectory } from "../users/user-directory.ts";
import { canonicalUsername } from "../users/username.ts";
import { claimAt } from "./match-claims.ts";
import type { IssuerRule, TrustedIssuer } from "./trusted-issuer.ts";

/** The subject of a token at this provider. The `sub` of a client is its id, that of a workload `{issuer_id}/{sub}`, which no client or user has. */
export type ResolvedSubject =
  | { readonly kind: "subject"; readonly sub: string; readonly forUser: boolean }
  | { readonly kind: "refused"; readonly reason: string };

/** An agent's identifier is opaque text (draft-carleton-workload-authz-grant-02 §4). */
const workloadName = /^[\x21-\x7e]{1,255}$/;

/**
 * **The user, workload or service client that a rule maps a token to.** Only active users count; a client's status is checked where the client is used. Cost
 * warm: 0 calls; by `username` 1 D1 call.
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
  const select = context.env.DB.prepare("SELECT sub FROM users WHERE username_key = ?1");
  const row = await queryDatabase(() => select.bind(canonicalUsername(value) ?? null).first<{ sub: string }>());
  return row?.sub;
}
