import type { Stored } from "@edge-op/protocol/encoding/stored-record";
import type * as z from "zod";
import type { RecordedCutOff } from "../control/cut-offs.ts";
import type { claimsSchema } from "./claims-schema.ts";

export type UserClaims = Stored<z.output<typeof claimsSchema>>;

/** **A user.** `claims` are the standard claims of OIDC Core §5.1, in their own spelling. */
export interface User {
  readonly sub: string;
  readonly username: string;
  readonly status: "active" | "suspended";
  readonly claims: UserClaims;
  /** Cut-offs of the user: grants from before one of them are revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Roles, groups and permissions of a user (RFC 9068 §2.2.3.1). */
export interface RbacClaims {
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly permissions: readonly string[];
}
