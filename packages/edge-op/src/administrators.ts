/**
 * **Getting in without an administrator**: rows that only who has the deployment's database and its `OP_MASTER_KEY` can write. Each is an audit event
 * in the transaction of the rows.
 */

import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { adminScopes } from "@edge-op/protocol/oauth/scope";
import { invitationToken } from "@edge-op/shared/mail/sealed-links";
import type { EmailAddress } from "@edge-op/shared/users/user-addresses";
import { type AdminClientRow, adminClientId, sqlText as text, writeAdminClient } from "./admin-client.ts";

export const administratorRole = "administrator";
/** Shorter than that of a mailed invitation: the operator gives the link to a person at once. */
const linkLifeMs = 86_400_000;

export interface Invited {
  /** SQL without parameters. */
  readonly statements: readonly string[];
  readonly link: string;
}

/**
 * Invites a person who gets the role of administrators, which is given every permission of the admin API. The link works once, for a day. An
 * earlier invitation of the address ends. It is no sign-up of the public, so it works with SIGN_UP=off. `by`: the command, for the audit log.
 * If the role gives no admin scope yet, whoever has its name loses it: anyone with `admin:users` could have given it to them.
 */
export async function inviteAdministrator(
  { address, key }: EmailAddress,
  {
    issuer,
    masterKey,
    by,
    nowMs,
  }: Readonly<Record<"issuer" | "masterKey" | "by", string>> & { readonly nowMs: number },
): Promise<Invited> {
  const id = randomBase64Url(16);
  const roles = [administratorRole];
  const token = await invitationToken({ OP_MASTER_KEY: masterKey }, id);
  const document = JSON.stringify({ roles, groups: [], by_operator: true });
  const permissions = adminScopes.map((scope) => `(${text(administratorRole)}, ${text(scope)})`);
  return {
    statements: [
      ...endEarlierHolders(by, nowMs),
      `INSERT OR IGNORE INTO role_permissions (role, permission) VALUES ${permissions.join(", ")}`,
      `DELETE FROM held_records WHERE kind = 'role' AND id = ${text(administratorRole)}`,
      `INSERT INTO control_changes (kind, id, at_ms) VALUES ('rbac', '*', ${nowMs})`,
      `INSERT INTO admin_events (at_ms, action, target, client_id, sub)
         SELECT ${nowMs}, 'invitation.delete', id, '', ${text(by)} FROM invitations WHERE address_key = ${text(key)}`,
      `DELETE FROM invitations WHERE address_key = ${text(key)}`,
      `INSERT INTO invitations (id, address_key, address, document, inviter, created_at_ms, until_ms)
         VALUES (${[id, key, address, document, by].map(text).join(", ")}, ${nowMs}, ${nowMs + linkLifeMs})`,
      recordEvent(
        { action: "role.update", target: administratorRole, detail: { given: adminScopes.length } },
        by,
        nowMs,
      ),
      recordEvent({ action: "invitation.create", target: id, detail: { roles, groups: [] } }, by, nowMs),
    ],
    link: `${issuer}/invitation?${new URLSearchParams({ token })}`,
  };
}

/** Rows of a table that give the role, the column of whoever has it, and the event of its end. */
const holders = [
  { table: "user_roles", who: "sub", has: (role: string) => `role = ${role}`, action: "user.update" },
  { table: "group_roles", who: "group_name", has: (role: string) => `role = ${role}`, action: "group.update" },
  {
    ...{ table: "invitations", who: "id", action: "invitation.delete" },
    has: (role: string) => `EXISTS (SELECT 1 FROM json_each(document, '$.roles') WHERE value = ${role})`,
  },
];

function endEarlierHolders(by: string, nowMs: number): string[] {
  const role = text(administratorRole);
  const isNew = `NOT EXISTS (SELECT 1 FROM role_permissions WHERE role = ${role} AND permission GLOB 'admin:*')`;
  const detail = text(JSON.stringify({ lost: administratorRole }));
  return holders.flatMap(({ table, who, has, action }) => [
    `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail)
       SELECT ${nowMs}, '${action}', ${who}, '', ${text(by)}, ${detail} FROM ${table} WHERE ${has(role)} AND ${isNew}`,
    `DELETE FROM ${table} WHERE ${has(role)} AND ${isNew}`,
  ]);
}

/** The admin client with this one secret, active, whatever happened to it. */
export function repairAdminClient(row: AdminClientRow, by: string, nowMs: number): string[] {
  return [
    ...writeAdminClient(row, nowMs),
    `DELETE FROM held_records WHERE kind = 'client' AND id = ${text(adminClientId)}`,
    recordEvent({ action: "client.repair", target: adminClientId, detail: {} }, by, nowMs),
  ];
}

interface Event {
  readonly action: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

function recordEvent({ action, target, detail }: Event, by: string, nowMs: number): string {
  return `INSERT INTO admin_events (at_ms, action, target, client_id, sub, detail)
    VALUES (${nowMs}, ${text(action)}, ${text(target)}, '', ${text(by)}, ${text(JSON.stringify(detail))})`;
}
