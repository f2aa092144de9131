import type { GrantIdentity } from "../sharding/new-grant.ts";
import type { RevocationSubject } from "./token-status.ts";

/**
 * **The revocation subject of a grant itself**, for what has no `jti` of its own: authorization codes, refresh tokens, sessions.
 * The grant's row and the cut-offs of its user and client revoke it.
 */
export function grantSubject(
  { grantId, address, grantCreatedAtMs }: GrantIdentity,
  { sub, clientId }: Pick<RevocationSubject, "sub" | "clientId">,
): RevocationSubject {
  return { address, jti: grantId, grantId, grantCreatedAtMs, sub, clientId, lineage: [] };
}
