import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { TakenBack } from "@edge-op/shared/mail/mail-sender-rpc";
import { openTakeBackLink, type TakeBackLink, takeBackMs } from "@edge-op/shared/mail/sealed-links";
import { hashPassword } from "@edge-op/shared/secrets/password-hash";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { changeAs, whileUnchanged } from "../session/write-as.ts";
import { setClaims } from "./commit-address.ts";

/** A change that the holder of a link can take back. */
export interface Change extends TakeBackLink {
  /** As mail is sent to it. */
  readonly address: string;
  /** When it was made. */
  readonly sinceMs: number;
}

/** When a change was made, by the row that it wrote; NULL if the row is gone. ?1: the `sub`, ?2: the address, ?4: the id of what was added. */
const changedAt: Readonly<Record<TakenBack["kind"] | "replaced", string>> = {
  replaced: `(SELECT held_until_ms - ${takeBackMs} FROM user_addresses WHERE address_key = ?2 AND sub = ?1 AND ?4 IS NULL)`,
  address: "(SELECT verified_at_ms FROM user_addresses WHERE address_key = ?4 AND sub = ?1 AND held_until_ms IS NULL)",
  totp: "(SELECT created_at_ms FROM user_totp WHERE sub = ?1 AND factor_id = ?4)",
  passkey: "(SELECT created_at_ms FROM webauthn_credentials WHERE sub = ?1 AND credential_id = ?4)",
  recovery_codes: "(SELECT created_at_ms FROM user_recovery_codes WHERE sub = ?1 AND set_id = ?4)",
  identity:
    "(SELECT created_at_ms FROM user_identities WHERE sub = ?1 AND json_array(upstream_id, issuer, subject) = ?4)",
};

/** Whether ?2 is the oldest address of the person ?1 at ?3, those included that others have replaced within a week. */
const isOldest = `EXISTS (SELECT 1 FROM user_addresses own WHERE own.address_key = ?2 AND own.sub = ?1
    AND coalesce(own.held_until_ms, ?3 + 1) > ?3
    AND NOT EXISTS (SELECT 1 FROM user_addresses older WHERE older.sub = ?1 AND older.verified_at_ms < own.verified_at_ms
      AND coalesce(older.held_until_ms, ?3 + 1) > ?3))`;

/** When the change of a link was made, if its holder can take it back now. */
function sinceOf({ added }: TakeBackLink): string {
  const changed = changedAt[added?.kind ?? "replaced"] ?? "NULL";
  return `(SELECT ${changed} WHERE ${isOldest} AND ${changed} > ?3 - ${takeBackMs})`;
}

/**
 * Reads the link of a mail; `undefined` if the change was taken back or can no longer be. Only the oldest address can, so an address that a thief has
 * added takes nothing back, from the owner or from an earlier link. Cost: 1 D1 call; 0 for a forged one.
 */
export async function findChange(
  { env, arrivedAtMs: atMs }: RequestContext<AuthEnv>,
  sealed: string | undefined,
): Promise<Change | undefined> {
  const link = await openTakeBackLink(env, sealed);
  if (link === undefined) return undefined;
  const { sub, key, added } = link;
  const select = `SELECT coalesce(address, address_key) AS address, ${sinceOf(link)} AS sinceMs FROM user_addresses
    WHERE address_key = ?2 AND sub = ?1`;
  const row = await queryDatabase(() =>
    peopleOf(env.DB)
      .prepare(select)
      .bind(sub, key, atMs, added?.id ?? null)
      .first<{ readonly address: string; readonly sinceMs: number | null }>(),
  );
  return row === null || row.sinceMs === null ? undefined : { ...link, address: row.address, sinceMs: row.sinceMs };
}

/** Also those of before the change: an address that was planted in time would lead back in. */
const laterAddresses = `DELETE FROM user_addresses WHERE sub = ?1 AND address_key <> ?2
  AND verified_at_ms > (SELECT verified_at_ms FROM user_addresses WHERE sub = ?1 AND address_key = ?2)`;

/** What is removed if it was created since ?2, of the person ?1. */
const createdSince = [
  ...["user_totp", "webauthn_credentials", "user_recovery_codes", "user_identities"].map(
    (table) => `DELETE FROM ${table} WHERE sub = ?1 AND created_at_ms >= ?2`,
  ),
  "DELETE FROM consents WHERE sub = ?1 AND given_at_ms >= ?2",
  // Codes that stand beside nothing.
  `DELETE FROM user_recovery_codes WHERE sub = ?1 AND ?2 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM user_totp WHERE sub = ?1)
     AND NOT EXISTS (SELECT 1 FROM webauthn_credentials WHERE sub = ?1)`,
  // Remembered browsers are forgotten, and a deletion that was asked for is not carried out.
  "UPDATE users SET factor_epoch = factor_epoch + 1, deletes_at_ms = NULL WHERE sub = ?1 AND ?2 IS NOT NULL",
];

/**
 * **Takes a change back, and everything that came after it**: factors, identities, consents, sessions, grants, and every later address. The password
 * stops working: who has it may have made the change. The person sets another one by the address. Returns the control version of the change. Cost: 1
 * password hash, and one control change with a cut-off.
 */
export async function takeBack(
  context: RequestContext<AuthEnv>,
  { sub, key, address, added, sinceMs }: Change,
): Promise<number> {
  const { DB } = context.env;
  const atMs = context.arrivedAtMs;
  const takenBack = { action: "account.taken_back", target: sub, actor: sub, detail: { since_ms: sinceMs } };
  const unusable = await hashPassword(randomBase64Url(32));
  const statements = [
    peopleOf(DB)
      .prepare("UPDATE user_addresses SET held_until_ms = NULL WHERE sub = ?1 AND address_key = ?2")
      .bind(sub, key),
    recordAdminEvent(context, takenBack),
    peopleOf(DB).prepare(laterAddresses).bind(sub, key),
    setClaims(context, { sub, key, address }, "?2 IS NOT NULL"),
    ...createdSince.map((remove) => peopleOf(DB).prepare(remove).bind(sub, sinceMs)),
    peopleOf(DB)
      .prepare("UPDATE user_passwords SET hash = ?2, updated_at_ms = ?3 WHERE sub = ?1 AND temporary_until_ms IS NULL")
      .bind(sub, unusable, atMs),
    ...endUserSessions(DB, sub, { reason: "change taken back", atMs }),
    forgetOfflineGrants(DB, sub),
  ];
  const isUnchanged = `${sinceOf({ sub, key, added })} IS ?5`;
  const guards = [whileUnchanged(DB, isUnchanged, sub, key, atMs, added?.id ?? null, sinceMs)] as const;
  const { version } = await changeAs(context, guards, statements, {
    changes: [{ kind: "user", id: sub }],
    cutOff: { kind: "sub", id: sub, actor: sub },
  });
  wakeAuditLog(context);
  return version;
}
