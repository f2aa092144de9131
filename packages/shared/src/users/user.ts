import type { Stored } from "@edge-op/protocol/encoding/stored-json";
import { claimsCoveredBy, rbacClaims, standardClaims } from "@edge-op/protocol/oauth/claims";
import type * as z from "zod";
import type { RecordedCutOff } from "../cut-offs/cut-offs.ts";
import type { UserAttributes } from "./attributes.ts";
import type { claimsSchema } from "./claims-schema.ts";

export type UserClaims = Stored<z.output<typeof claimsSchema>>;

/** **A user.** `claims` are the standard claims of OIDC Core §5.1, in their own spelling. */
export interface User {
  readonly sub: string;
  readonly username: string;
  /** `leaving`: the person has asked to delete the account, and may only sign in to keep it. */
  readonly status: "active" | "suspended" | "leaving";
  readonly claims: UserClaims;
  /** Values of declared attributes; absent if there are none. */
  readonly attributes?: UserAttributes;
  /** Cut-offs of the user: grants from before one of them are revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Roles, groups and permissions of a user (RFC 9068 §2.2.3.1). */
export interface RbacClaims {
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly permissions: readonly string[];
}

/**
 * **The claims of a user that a client sees**, at UserInfo and in ID tokens: those of the scope values, and those that were requested individually
 * at /authorize. A claim without a value is omitted.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ScopeClaims
 * @see https://openid.net/specs/openid-connect-core-1_0.html#ClaimsParameter
 */
export function visibleClaims(scope: readonly string[], requested: readonly string[] = []): ReadonlySet<string> {
  return new Set([...claimsCoveredBy(scope), ...requested]);
}

/** Whether roles or groups are visible; they are read from other tables than the user's. */
export function includesRbac(visible: ReadonlySet<string>): boolean {
  return rbacClaims.some((name) => visible.has(name));
}

export function selectClaims(
  { claims }: Pick<User, "claims">,
  rbac: RbacClaims | undefined,
  visible: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const selected: Record<string, unknown> = {};
  for (const name of standardClaims) if (visible.has(name) && claims[name] !== undefined) selected[name] = claims[name];
  for (const name of rbacClaims) if (visible.has(name) && (rbac?.[name].length ?? 0) > 0) selected[name] = rbac?.[name];
  return selected;
}
