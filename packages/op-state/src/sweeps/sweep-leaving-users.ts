import { recordAdminEvent } from "@edge-op/shared/audit/admin-event";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type MailBindings, tellPerson } from "@edge-op/shared/mail/tell-person";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type RetirementBindings, retireSub } from "@edge-op/shared/users/retired-subs";
import type { UserClaims } from "@edge-op/shared/users/user";

/** People of one batch, in either list. Their deletions are sent with leases, as every change is. */
export const leavingAtOnce = 20;
const noticeMs = 3 * 86_400_000;
const actor = "sweep";

type SweepContext = Pick<RequestContext<RetirementBindings & MailBindings>, "env" | "settings" | "waitUntil">;

interface LeavingRow {
  readonly sub: string;
  readonly claims: string;
}

/** An erasure is not announced when it was asked for less than three days ago. */
const near = `SELECT sub, claims FROM users WHERE deletes_at_ms > ?1 AND deletes_at_ms <= ?2 AND status = 'active'
   AND NOT EXISTS (SELECT 1 FROM admin_events WHERE target = users.sub AND action = 'account.deletion_near' AND at_ms >= users.deletes_at_ms - ?3)
   ORDER BY deletes_at_ms LIMIT ?4`;
const due =
  "SELECT sub, claims FROM users WHERE deletes_at_ms <= ?1 AND status = 'active' ORDER BY deletes_at_ms LIMIT ?2";

export interface SweptUsers {
  readonly isDone: boolean;
  /** The log has changes that no shard was sent. */
  readonly needsAnnouncement: boolean;
}

/**
 * **Erases the accounts whose person has asked for it, when their time has come**, as an administrator's erasure does: every row of the person, and
 * the sub is retired for ever. Their sessions and grants ended when they asked. People are told three days before and when it is done. One who is
 * suspended stays until an administrator decides. The deletions are changes of the log, which the caller announces. Cost: 1 D1 call; for each person
 * 2 D1 calls and tell-person.ts.
 */
export async function sweepLeavingUsers(context: SweepContext, passedMs: number): Promise<SweptUsers> {
  const { DB } = context.env;
  const [nearly, erased] = await queryDatabase(() =>
    peopleOf(DB).batch<LeavingRow>([
      peopleOf(DB)
        .prepare(near)
        .bind(passedMs, passedMs + noticeMs, noticeMs, leavingAtOnce),
      peopleOf(DB).prepare(due).bind(passedMs, leavingAtOnce),
    ]),
  );
  const lists = [nearly?.results ?? [], erased?.results ?? []] as const;
  for (const row of lists[0]) await announce(context, row);
  for (const row of lists[1]) await erase(context, row, passedMs);
  return { isDone: lists.every(({ length }) => length < leavingAtOnce), needsAnnouncement: lists[1].length > 0 };
}

async function announce(context: SweepContext, { sub, claims }: LeavingRow): Promise<void> {
  const requestId = crypto.randomUUID();
  const evidence = { action: "account.deletion_near", target: sub, actor: sub };
  const event = recordAdminEvent({ env: context.env, network: undefined, requestId }, evidence);
  const notice = { sub, claims: JSON.parse(claims) as UserClaims, kind: "deletion-near", evidence } as const;
  await tellPerson({ ...context, requestId }, notice, () => queryDatabase(() => event.run()));
}

/** Not if the person has kept the account meanwhile. */
async function erase(context: SweepContext, { sub, claims }: LeavingRow, passedMs: number): Promise<void> {
  const { env } = context;
  const { DB } = env;
  const requestId = crypto.randomUUID();
  const known = JSON.parse(claims) as UserClaims;
  const evidence = { action: "user.delete", target: sub, actor };
  const isDue = "(SELECT 1 FROM users WHERE sub = ?1 AND deletes_at_ms <= ?2 AND status = 'active')";
  const change = (kind: string) =>
    peopleOf(DB)
      .prepare(`INSERT INTO control_changes (kind, id, at_ms) SELECT ?3, ?1, ?4 WHERE EXISTS ${isDue}`)
      .bind(...[sub, passedMs, kind, nowMs()]);
  const statements = [
    change("user"),
    change("rbac"),
    await retireSub(env, sub),
    peopleOf(DB)
      .prepare("DELETE FROM users WHERE sub = ?1 AND deletes_at_ms <= ?2 AND status = 'active'")
      .bind(sub, passedMs),
    recordAdminEvent({ env, network: undefined, requestId }, evidence, { ifChanged: true }),
  ];
  const { email, locale } = known;
  const notice = { sub, claims: known, kind: "deletion-done", evidence, removed: email, locale } as const;
  await tellPerson({ ...context, requestId }, notice, async () => {
    const results = await queryDatabase(() => DB.batch(statements));
    return (results.at(-1)?.meta.changes ?? 0) > 0;
  });
}
