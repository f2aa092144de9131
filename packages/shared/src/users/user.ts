import type { RecordedCutOff } from "../control/cut-offs.ts";

export interface UserClaims {
  readonly name?: string;
  readonly given_name?: string;
  readonly family_name?: string;
  readonly middle_name?: string;
  readonly nickname?: string;
  readonly preferred_username?: string;
  readonly profile?: string;
  readonly picture?: string;
  readonly website?: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly gender?: string;
  readonly birthdate?: string;
  readonly zoneinfo?: string;
  readonly locale?: string;
  readonly phone_number?: string;
  readonly phone_number_verified?: boolean;
  readonly address?: {
    readonly formatted?: string;
    readonly street_address?: string;
    readonly locality?: string;
    readonly region?: string;
    readonly postal_code?: string;
    readonly country?: string;
  };
  /** Seconds since the epoch. */
  readonly updated_at?: number;
}

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
