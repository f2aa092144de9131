import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { takeBackMs } from "@edge-op/shared/mail/sealed-links";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { log } from "@edge-op/shared/runtime/log";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { PageRequest } from "../pages/frame.ts";
import { readDeployment } from "../runtime/deployment.ts";
import { type Guard, whileUnchanged } from "./write-as.ts";

/** From the request to the first use. */
export const waitMs = 86_400_000;
/** In which it can be used. */
export const usableMs = 7 * 86_400_000;
/** After a stop, until the next request. */
export const blockedMs = 7 * 86_400_000;

/** **A recovery by mail alone** (`RECOVERY=address`). A person has one at most. */
export interface AddressRecovery {
  readonly id: string;
  /** The verified address with which it was asked for. Only its mailbox uses it. */
  readonly key: string;
  readonly askedAtMs: number;
  readonly stoppedAtMs: number | undefined;
  readonly untilMs: number;
}

/** Whose recovery, by which address, when. */
export interface OfAddress {
  readonly sub: string;
  readonly id: string;
  readonly key: string;
  readonly atMs: number;
}

/**
 * **The states of a recovery.** Pure: time alone moves it from `waiting` to `usable` and to `over`.
 *
 *     none ──ask──▶ waiting ──a day──▶ usable ──seven days──▶ over, which is none
 *                      └────────stop──────┴──▶ stopped ──seven days──▶ over
 *                                         use: the row is deleted with the new password
 *
 * Each write repeats in its transaction what it was decided by: {@link askForRecovery}, {@link stopRecovery}, {@link whileUsable}.
 */
export function stateOf(
  { askedAtMs, stoppedAtMs, untilMs }: AddressRecovery,
  nowMs: number,
): "waiting" | "usable" | "stopped" | "over" {
  if (nowMs >= untilMs) return "over";
  if (stoppedAtMs !== undefined) return "stopped";
  return nowMs < askedAtMs + waitMs ? "waiting" : "usable";
}

interface Row {
  readonly recovery_id: string;
  readonly address_key: string;
  readonly asked_at_ms: number;
  readonly stopped_at_ms: number | null;
  readonly until_ms: number;
}

/** The recovery of a person, whatever its state. Cost: 1 D1 call. */
export async function findRecovery(database: D1Database, sub: string): Promise<AddressRecovery | undefined> {
  const select = peopleOf(database).prepare("SELECT * FROM account_recoveries WHERE sub = ?1").bind(sub);
  const row = await queryDatabase(() => select.first<Row>());
  if (row === null) return undefined;
  const { recovery_id: id, address_key: key, asked_at_ms: askedAtMs, stopped_at_ms: stopped, until_ms: untilMs } = row;
  return { id, key, askedAtMs, stoppedAtMs: stopped ?? undefined, untilMs };
}

/**
 * Who has added an address to a session of somebody else waits for a week, as the address that was there before can take it back for so long: it asks
 * if it is older than that, or the oldest of the account.
 */
const mayAsk = `EXISTS (SELECT 1 FROM user_addresses own JOIN users u ON u.sub = own.sub AND u.status = 'active'
    WHERE own.sub = ?1 AND own.address_key = ?3 AND own.held_until_ms IS NULL
      AND (own.verified_at_ms <= ?4 - ${takeBackMs} OR NOT EXISTS (SELECT 1 FROM user_addresses older
        WHERE older.sub = ?1 AND older.verified_at_ms < own.verified_at_ms AND coalesce(older.held_until_ms, ?4 + 1) > ?4)))`;

/** Changes nothing while the person has a recovery: a second request neither begins anew nor ends one that was stopped. */
export function askForRecovery(database: D1Database, { sub, id, key, atMs }: OfAddress): D1PreparedStatement {
  const insert = `INSERT INTO account_recoveries (sub, recovery_id, address_key, asked_at_ms, until_ms) SELECT ?1, ?2, ?3, ?4, ?5 WHERE ${mayAsk}
    ON CONFLICT (sub) DO UPDATE SET recovery_id = ?2, address_key = ?3, asked_at_ms = ?4, stopped_at_ms = NULL, until_ms = ?5
      WHERE until_ms <= ?4`;
  return peopleOf(database)
    .prepare(insert)
    .bind(sub, id, key, atMs, atMs + waitMs + usableMs);
}

/**
 * Stops the recovery of a person, while it has not ended: the one with this id, for a link, which stops no later one; any, for a session. `sid`: only
 * if this session is listed.
 */
export function stopRecovery(
  database: D1Database,
  { sub, atMs, id, sid }: { readonly sub: string; readonly atMs: number; readonly id?: string; readonly sid?: string },
): D1PreparedStatement {
  const update = `UPDATE account_recoveries SET stopped_at_ms = ?2, until_ms = ?3 WHERE sub = ?1 AND stopped_at_ms IS NULL AND until_ms > ?2
    AND (?4 IS NULL OR recovery_id = ?4) AND (?5 IS NULL OR EXISTS (SELECT 1 FROM user_sessions WHERE sid = ?5 AND sub = ?1))`;
  return peopleOf(database)
    .prepare(update)
    .bind(sub, atMs, atMs + blockedMs, id ?? null, sid ?? null);
}

/** The write of the new password fails unless the recovery can be used by this address now. */
export function whileUsable(database: D1Database, { sub, id, key, atMs }: OfAddress): Guard {
  const condition = `EXISTS (SELECT 1 FROM account_recoveries WHERE sub = ?1 AND recovery_id = ?2 AND address_key = ?3
    AND stopped_at_ms IS NULL AND asked_at_ms + ${waitMs} <= ?4 AND until_ms > ?4)`;
  return whileUnchanged(database, condition, sub, id, key, atMs);
}

/**
 * What is written with the new password: the recovery has been used, and what the person does not have any more is removed. Passkeys and connected
 * providers stay: they are ways in by themselves, of whoever has them.
 */
export function useRecovery(database: D1Database, sub: string): D1PreparedStatement[] {
  return [
    peopleOf(database).prepare("DELETE FROM account_recoveries WHERE sub = ?1").bind(sub),
    peopleOf(database).prepare("DELETE FROM user_totp WHERE sub = ?1").bind(sub),
    peopleOf(database).prepare("DELETE FROM user_recovery_codes WHERE sub = ?1").bind(sub),
    peopleOf(database).prepare("UPDATE users SET factor_epoch = factor_epoch + 1 WHERE sub = ?1").bind(sub),
  ];
}

type Context = PageRequest["context"];

/** Whether people of this deployment can have a recovery. */
export function hasRecoveries({ env, settings }: Pick<Context, "env" | "settings">): boolean {
  return readDeployment(env).secondFactor.recovery === "address" && settings.mailProvider !== "off";
}

function stopOf(sub: string) {
  return { action: "account.recovery_stopped", target: sub, actor: sub } as const;
}

/** **Stops a recovery now**, and tells its person in the background: a stop waits for no mail. Returns whether there was one. Cost: 1 D1 call. */
export async function stopNow(
  context: Context,
  { sub, ...which }: { readonly sub: string; readonly id?: string; readonly sid?: string },
): Promise<boolean> {
  const { DB } = context.env;
  const stop = stopRecovery(DB, { sub, ...which, atMs: context.arrivedAtMs });
  const event = recordAdminEvent(context, stopOf(sub), { ifChanged: true });
  const [first] = await queryDatabase(() => peopleOf(DB).batch([stop, event]));
  const isStopped = first?.meta.changes === 1;
  if (isStopped) tellOfStop(context, sub, async () => true);
  return isStopped;
}

/** Records that a sign-in has stopped a recovery, and tells its person, in the background. The row itself says so at the account pages. */
export function recordStop(context: Context, sub: string): void {
  tellOfStop(context, sub, () => queryDatabase(() => recordAdminEvent(context, stopOf(sub)).run()));
}

function tellOfStop(context: Context, sub: string, commit: () => Promise<unknown>): void {
  const tell = async () => {
    try {
      await tellPerson(context, { sub, kind: "recovery-stopped", evidence: stopOf(sub) }, commit);
      wakeAuditLog(context);
    } catch (cause) {
      log("person-not-told", { cause: String(cause), requestId: context.requestId });
    }
  };
  context.waitUntil(tell());
}
