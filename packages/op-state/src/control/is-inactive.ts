import type { CutOffIntent } from "@edge-op/shared/objects/control-plane";

/** **Whether a user is suspended, or a client disabled, or gone**: the change that was to end their grants is committed. Cost: 1 D1 call. */
export async function isInactive(database: D1Database, { kind, id }: CutOffIntent): Promise<boolean> {
  const active =
    kind === "sub"
      ? "SELECT 1 FROM users WHERE sub = ?1 AND status = 'active'"
      : "SELECT 1 FROM clients WHERE client_id = ?1 AND status = 'active'";
  return (await database.prepare(active).bind(id).first()) === null;
}
