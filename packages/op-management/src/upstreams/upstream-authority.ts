import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { type ActorRequest, requireAuthority } from "../admin/actor.ts";
import { adminScopes } from "../admin/define-route.ts";

/**
 * **Refuses to write an upstream provider that decides how administrators sign in**, unless the actor has every admin scope that it leads to. A
 * record that binds the people of a domain, believes addresses, or raises the level of a sign-in leads to every administrator, also to those who
 * become one later, so it needs all of them. Any other record leads to those who have connected it. Cost: 1 D1 for a record that exists, none for a
 * new one.
 *
 * @see ../../../../docs/adr/0063-people-sign-in-with-upstream-providers.md
 */
export async function requireAuthorityOverUpstream(
  { context, actor }: ActorRequest,
  documents: readonly UpstreamDocument[],
  knownId?: string,
): Promise<void> {
  if (documents.some(decidesSignIn)) return requireAuthority(actor, adminScopes);
  if (knownId === undefined) return;
  const { results } = await queryDatabase(() =>
    context.env.DB.prepare(scopesOfConnected).bind(knownId).all<{ permission: string }>(),
  );
  requireAuthority(
    actor,
    results.map(({ permission }) => permission),
  );
}

function decidesSignIn({ discovery, trusted_domains, acr_map }: UpstreamDocument): boolean {
  return discovery !== "off" || trusted_domains.length > 0 || Object.keys(acr_map).length > 0;
}

/** The admin scopes of people who have connected the provider ?1. Starts with the few who have any. */
const scopesOfConnected = `
  WITH admin (role, permission) AS (SELECT role, permission FROM role_permissions WHERE permission GLOB 'admin:*'),
  holders (sub, permission) AS (
    SELECT u.sub, a.permission FROM user_roles u JOIN admin a ON a.role = u.role
    UNION SELECT u.sub, a.permission FROM user_groups u JOIN group_roles g ON g.group_name = u.group_name JOIN admin a ON a.role = g.role)
  SELECT DISTINCT permission FROM holders
   WHERE EXISTS (SELECT 1 FROM user_identities i WHERE i.sub = holders.sub AND i.upstream_id = ?1)`;
