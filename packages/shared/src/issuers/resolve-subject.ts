import { queryDatabase } from "../cache/query-database.ts";
import type { StorageBindings } from "../cache/read-through.ts";
import type { IssuerRule } from "../directory/trusted-issuer.ts";
import type { UserDirectory } from "../directory/user-directory.ts";
import { canonicalUsername } from "../directory/username.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { JwtClaims } from "../jwt/decode-claims.ts";
import { claimAt } from "./match-claims.ts";

/** Whom a token stands for here. `sub` of a client is its id. */
export type ResolvedSubject =
  | { readonly kind: "subject"; readonly sub: string; readonly forUser: boolean }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * **The user or service client that a rule maps a token to.** Only active users count; a client is checked where it takes part. Cost warm:
 * 0 calls; by `username` 1 D1 call.
 */
export async function resolveSubject(
  context: RequestContext<StorageBindings>,
  { users }: { readonly users: UserDirectory },
  rule: Pick<IssuerRule, "subject" | "client_id">,
  claims: JwtClaims,
): Promise<ResolvedSubject> {
  const { subject } = rule;
  if (subject.type === "client") {
    if (rule.client_id === undefined) return { kind: "refused", reason: "the rule maps to no client" };
    return { kind: "subject", sub: rule.client_id, forUser: false };
  }
  const sub = "sub" in subject ? subject.sub : await findMapped(context, subject, claimAt(claims, subject.claim));
  const user = sub === undefined ? undefined : await users.find(context, sub);
  if (user === undefined) return { kind: "refused", reason: "the rule maps to no user" };
  return user.status === "active"
    ? { kind: "subject", sub: user.sub, forUser: true }
    : { kind: "refused", reason: "the user is suspended" };
}

/** Longer texts name no user (OIDC Core §2). */
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
