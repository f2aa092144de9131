import type { Stored } from "@edge-op/protocol/encoding/json-object";
import type * as z from "zod";
import type { RecordedCutOff } from "../control/cut-offs.ts";
import type { claimsSchema } from "./claims-schema.ts";

export type UserClaims = Stored<z.output<typeof claimsSchema>>;

export interface User {
  readonly sub: string;
  readonly username: string;
  readonly status: "active" | "suspended";
  readonly claims: UserClaims;
  /** What the user granted before one of them is revoked. */
  readonly cutOffs: readonly RecordedCutOff[];
}

/** Roles, groups and permissions of a user (RFC 9068 §2.2.3.1). */
export interface RbacClaims {
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly permissions: readonly string[];
}
