import { type ActorRequest, requireAuthority } from "@edge-op/shared/administration/actor";
import { queryDatabase } from "@edge-op/shared/cache/query-database";

/** **Refuses to give or take roles and groups** unless the actor has every admin scope that they give. Cost: 1 D1. */
export async function requireAuthorityOverRoles(
  { context, actor }: ActorRequest,
  roles: readonly string[],
  groups: readonly string[],
): Promise<void> {
  const { results } = await queryDatabase(() =>
    context.env.DB.prepare(
      `SELECT DISTINCT permission FROM role_permissions
        WHERE permission GLOB 'admin:*' AND role IN (
          SELECT value FROM json_each(?1)
          UNION SELECT role FROM group_roles WHERE group_name IN (SELECT value FROM json_each(?2)))`,
    )
      .bind(JSON.stringify(roles), JSON.stringify(groups))
      .all<{ permission: string }>(),
  );
  requireAuthority(
    actor,
    results.map(({ permission }) => permission),
  );
}
