import type { Stored } from "@edge-op/protocol/encoding/stored-record";
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
