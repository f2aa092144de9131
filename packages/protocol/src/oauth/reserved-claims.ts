import { protocolClaims, rbacScopes, standardClaims } from "./claims.ts";

/**
 * Claims and members of introspection responses by which a token is verified, bound, ended or given rights, and those that this provider may sign
 * into an access token for itself.
 */
const ofTokens = [
  ...["nbf", "jti", "scope", "client_id", "cnf", "act", "may_act", "token_type", "active", "resource"],
  ...["at_hash", "c_hash", "s_hash", "sub_jwk", "sub_id", "events", "toe", "txn", "status", "vot", "vtm"],
  ...[
    "authorization_details",
    "username",
    "user",
    "grant_client",
    "via",
    "lineage",
    "sealed_sub",
    "claims_userinfo",
    "org_id",
    "organizations",
  ],
  ...["scp", "exi", "at_use_nbr", "ace_profile", "cnonce", "crit", "entitlements"],
  ...["_claim_names", "_claim_sources", "verified_claims", "vc", "vp"],
];

const reserved: ReadonlySet<string> = new Set([...protocolClaims, ...standardClaims, ...rbacScopes, ...ofTokens]);

/**
 * **Whether this provider gives a claim its value**: about the token, the sign-in, rights, or the profile of the person. An administrator's mapping
 * must not set it. Every other claim of an access token comes from such a mapping.
 *
 * @see https://www.iana.org/assignments/jwt/jwt.xhtml
 */
export function isReservedClaim(name: string): boolean {
  return reserved.has(name);
}

/** The claims of an access token that come from mappings; `undefined` if there are none. */
export function unreservedClaims(
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const mapped = Object.entries(claims).filter(([name]) => !isReservedClaim(name));
  return mapped.length === 0 ? undefined : Object.fromEntries(mapped);
}
