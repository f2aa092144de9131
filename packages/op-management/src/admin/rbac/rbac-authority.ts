import { queryDatabase } from "@edge-op/shared/cache/query-database";
import { requireAuthority } from "../api/authority.ts";
import type { AdminCall } from "../api/define-route.ts";

/** **Who may give or take roles and groups**: whoever carries every admin scope that they give. Cost: 1 D1. */
export async function requireAuthorityOverRoles(
  { context, admin }: Pick<AdminCall<unknown, unknown>, "context" | "admin">,
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
    admin,
    results.map(({ permission }) => permission),
  );
}
