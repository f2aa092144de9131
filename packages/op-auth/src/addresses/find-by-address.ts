import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { type FactorRow, type Factors, factorColumns, toFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { userQuery } from "@edge-op/shared/users/user-directory";
import { type Guard, whileUnchanged } from "../session/write-as.ts";
import type { MailedCode } from "../step/flow.ts";
import type { StepRequest, StepResult } from "../step/step.ts";
import { tryCode } from "./mailed-code.ts";

export interface RecoveringAccount {
  readonly sub: string;
  /** False: they have asked to delete their account, and may keep it. */
  readonly isActive: boolean;
  readonly factors: Factors;
  /** The hash of the temporary password. */
  readonly temporaryHash?: string | undefined;
}

interface AccountRow extends FactorRow {
  readonly sub: string;
  readonly leaving: number;
  readonly hash?: string;
}

function toAccount({ sub, leaving, hash, ...factors }: AccountRow): RecoveringAccount {
  return { sub, isActive: leaving === 0, factors: toFactors(factors), temporaryHash: hash };
}

/** The account whose verified address this is. An address that was replaced finds nobody. */
export function byAddress(database: D1Database, key: string): D1PreparedStatement {
  const select = `SELECT u.sub, u.deletes_at_ms IS NOT NULL AS leaving, ${factorColumns} FROM user_addresses a JOIN users u ON u.sub = a.sub
    WHERE a.address_key = ?1 AND a.held_until_ms IS NULL AND u.status = 'active'`;
  return peopleOf(database).prepare(select).bind(key);
}

export function bySub(database: D1Database, sub: string): D1PreparedStatement {
  const select = `SELECT u.sub, u.deletes_at_ms IS NOT NULL AS leaving, ${factorColumns} FROM users u WHERE u.sub = ?1 AND u.status = 'active'`;
  return peopleOf(database).prepare(select).bind(sub);
}

/** The account that has a temporary password. */
export function byTemporaryPassword(database: D1Database, sub: string, atMs: number): D1PreparedStatement {
  const select = `SELECT u.sub, u.deletes_at_ms IS NOT NULL AS leaving, t.hash, ${factorColumns} FROM user_passwords t JOIN users u ON u.sub = t.sub
    WHERE t.sub = ?1 AND t.temporary_until_ms > ?2 AND u.status = 'active'`;
  return peopleOf(database).prepare(select).bind(sub, atMs);
}

/**
 * A new password is set while the mailbox is still the person's, or the temporary password still theirs, and while no app was added that would be
 * asked for.
 */
export function whileRecoverable(
  database: D1Database,
  { method, sub, credential }: Pick<Proof, "method" | "sub" | "credential">,
  { factors, temporaryHash }: Pick<RecoveringAccount, "factors" | "temporaryHash">,
  atMs: number,
): Guard {
  const isTemporary = method === "temporaryPassword";
  const isTheirs = isTemporary
    ? "EXISTS (SELECT 1 FROM user_passwords WHERE sub = ?1 AND hash = ?2 AND temporary_until_ms > ?3)"
    : "EXISTS (SELECT 1 FROM user_addresses WHERE sub = ?1 AND address_key = ?2 AND held_until_ms IS NULL AND ?3 > 0)";
  const condition = `${isTheirs} AND EXISTS (SELECT 1 FROM user_totp WHERE sub = ?1) = ?4`;
  const shown = isTemporary ? temporaryHash : credential;
  return whileUnchanged(database, condition, sub, shown ?? null, atMs, factors.totp ? 1 : 0);
}

/** **The account of an address**, with its factors. Cost: 1 D1 call. */
async function findByAddress(database: D1Database, key: string): Promise<RecoveringAccount | undefined> {
  const row = await queryDatabase(() => byAddress(database, key).first<AccountRow>());
  return row === null ? undefined : toAccount(row);
}

/** The account of a statement, and the user `sub`. Cost: 1 D1 call. */
export async function findWithUser(
  database: D1Database,
  account: D1PreparedStatement,
  sub: string,
): Promise<{ readonly account: RecoveringAccount | undefined; readonly user: User | undefined }> {
  const [found, users] = await queryDatabase(() =>
    peopleOf(database).batch<object>([account, userQuery.statement(database, sub)]),
  );
  const [row] = (found?.results ?? []) as readonly AccountRow[];
  return { account: row && toAccount(row), user: userQuery.read(users?.results ?? []) };
}

interface ProvenMailbox {
  readonly kind: "proven";
  readonly account: RecoveringAccount;
  readonly proof: Proof;
  readonly cookie: string;
}

/**
 * **Judges the code of a mailbox, and finds whose it is.** Cost: 1 object call; for the right code 1 D1 call after it, and 1 object call beside these
 * with a session cookie.
 */
export async function judgeCode(
  at: StepRequest,
  mailed: MailedCode,
  typed: string,
): Promise<ProvenMailbox | Extract<StepResult, { readonly kind: "again" }>> {
  const { context, isolate, browser, flow } = at;
  // As in a sign-in: before the account is read (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [attempt] = await Promise.all([tryCode(at, { browser, id: flow.fid }, mailed, typed), at.person()]);
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  const { key } = attempt.address;
  const account = await findByAddress(context.env.DB, key);
  // Suspended, or without this address, since the mail was sent.
  if (account === undefined) return { kind: "again", problem: { kind: "refused", method: "over" } };
  const { sub } = account;
  const proof: Proof = { method: "mailedCode", sub, credential: key, atMs: context.arrivedAtMs, controlVersion };
  return { kind: "proven", account, proof, cookie: attempt.cookie };
}
