/**
 * **Records that are held after D1 was restored to an earlier moment** (ADR 11). The restored record may allow what was taken away since, so it is
 * refused like a suspended user or a disabled client until an administrator decides. `held_records` contains what it allowed.
 */

import type { ControlKind } from "../storage/record-kinds.ts";

export const heldKinds = [
  "user",
  "client",
  "issuer",
  "upstream",
  "document-host",
  "resource",
  "role",
  "group",
  "attribute",
  "organization",
  "organization-role",
] as const;
export type HeldKind = (typeof heldKinds)[number];

interface HeldTable {
  /** The kinds of copies that contain such a record. */
  readonly copies: readonly ControlKind[];
  /** Selects id and what each record allows that is not refused already. */
  readonly selectKept: string;
  /** Refuses the records of {@link heldIds}. */
  readonly refuse: string;
  /** Gives the records whose ids are the JSON list ?1 what they allowed, unless they were changed since. ?2: the time. */
  readonly restore: string;
}

/** The ids of a kind that were held at the time ?2. */
const heldIds = (kind: HeldKind) => `SELECT id FROM held_records WHERE kind = '${kind}' AND held_at_ms = ?2`;
const newVersion = "updated_at_ms = max(updated_at_ms + 1, ?2)";

/** A record is refused by the value `refused` of its column. A new version makes every change fail that was begun before. */
function byColumn(
  kind: HeldKind,
  copies: readonly ControlKind[],
  { table, key, column, refused }: Readonly<Record<"table" | "key" | "column" | "refused", string>>,
): HeldTable {
  const kept = `(SELECT kept FROM held_records WHERE kind = '${kind}' AND id = ${key})`;
  return {
    copies,
    selectKept: `SELECT ${key} AS id, ${column} AS kept FROM ${table} WHERE ${column} <> ${refused}`,
    refuse: `UPDATE ${table} SET ${column} = ${refused}, ${newVersion} WHERE ${key} IN (${heldIds(kind)})`,
    restore: `UPDATE ${table} SET ${column} = ${kept}, ${newVersion}
       WHERE ${key} IN (SELECT value FROM json_each(?1)) AND ${column} = ${refused} AND ${kept} IS NOT NULL`,
  };
}

/** A role or group is refused by giving nothing. */
function byRows(
  kind: HeldKind,
  copies: readonly ControlKind[],
  { table, key, value }: Readonly<Record<"table" | "key" | "value", string>>,
): HeldTable {
  return {
    copies,
    selectKept: `SELECT ${key} AS id, json_group_array(${value}) AS kept FROM ${table} GROUP BY ${key}`,
    refuse: `DELETE FROM ${table} WHERE ${key} IN (${heldIds(kind)})`,
    restore: `INSERT INTO ${table} SELECT h.id, given.value FROM held_records AS h, json_each(h.kept) AS given
       WHERE h.kind = '${kind}' AND h.id IN (SELECT value FROM json_each(?1)) AND ?2 > 0
         AND NOT EXISTS (SELECT 1 FROM ${table} WHERE ${key} = h.id)`,
  };
}

/** Only clients that name the resource themselves get a token for it, and none of its scopes. */
const closedResource =
  "json_set(metadata, '$.clients', json('[]'), '$.scopes', json('[]'), '$.bound_tokens_required', json('true'))";

/** Its values are disclosed to nobody, as if it had been deleted. */
const unmapped = "json_remove(document, '$.claim')";

const status = { column: "status", refused: "'disabled'" };

export const heldTables: Readonly<Record<HeldKind, HeldTable>> = {
  user: byColumn("user", ["user"], { table: "users", key: "sub", column: "status", refused: "'suspended'" }),
  client: byColumn("client", ["client"], { table: "clients", key: "client_id", ...status }),
  issuer: byColumn("issuer", ["issuer"], { table: "trusted_issuers", key: "issuer_id", ...status }),
  upstream: byColumn("upstream", ["upstreams"], { table: "upstreams", key: "upstream_id", ...status }),
  "document-host": byColumn("document-host", ["document-hosts", "client"], {
    ...{ table: "document_hosts", key: "host", column: "policy", refused: "'deny'" },
  }),
  resource: byColumn("resource", ["resource"], {
    ...{ table: "resources", key: "identifier", column: "metadata", refused: closedResource },
  }),
  role: byRows("role", ["rbac"], { table: "role_permissions", key: "role", value: "permission" }),
  group: byRows("group", ["rbac"], { table: "group_roles", key: "group_name", value: "role" }),
  attribute: byColumn("attribute", ["attributes", "document-hosts"], {
    ...{ table: "attributes", key: "name", column: "document", refused: unmapped },
  }),
  // Of all its members too, whose changes are its events.
  organization: byColumn("organization", ["organization", "membership"], {
    ...{ table: "organizations", key: "org_id", ...status },
  }),
  "organization-role": byRows("organization-role", ["membership"], {
    ...{ table: "organization_role_permissions", key: "role", value: "permission" },
  }),
};
