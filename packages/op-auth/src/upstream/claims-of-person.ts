import type { Upstream } from "@edge-op/shared/upstreams/upstream";
import { mappedClaims } from "@edge-op/shared/upstreams/upstream-schema";
import { readClaim } from "@edge-op/shared/users/claims-schema";
import type { UserClaims } from "@edge-op/shared/users/user";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import type { UpstreamPerson } from "./kinds.ts";

/** The claims of a new user: those that may be mapped, each if its value is valid. The address has rules of its own. */
export function claimsOf({ document }: Upstream, { claims, address }: UpstreamPerson): UserClaims {
  const named = mappedClaims.map((name) => [name, readClaim(name, claims[document.claims[name] ?? name])]);
  const valid = Object.fromEntries(named.filter(([, value]) => value !== undefined)) as UserClaims;
  if (address === undefined || readClaim("email", address.address) === undefined) return valid;
  // An address that cannot be compared cannot be verified.
  const isVerified = address.isBelieved && parseEmailAddress(address.address) !== undefined;
  return { ...valid, email: address.address, email_verified: isVerified };
}
