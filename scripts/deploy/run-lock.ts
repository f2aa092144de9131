import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { lockRow, quote } from "./record-choices.ts";
import { Refusal } from "./refusal.ts";
import { query, type Session } from "./session.ts";

/** Longer than any run: a new host name may need ten minutes for its certificate. */
const lockMs = 30 * 60_000;
const fileName = "run.json";

export interface Lock {
  readonly id: string;
  /** Who has it, for people. */
  readonly by: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/**
 * Whether a run may begin: nobody has the lock, it has ended by itself, it is that of a run of this folder whose process is gone, or the operator
 * agrees. Returns why not.
 */
export function whyLocked(
  found: Lock | undefined,
  own: { readonly deadId: string | undefined; readonly isAgreed: boolean; readonly nowMs: number },
): string | undefined {
  if (found === undefined || found.untilMs <= own.nowMs || found.id === own.deadId || own.isAgreed) return undefined;
  const [since, until] = [found.sinceMs, found.untilMs].map((atMs) => new Date(atMs).toISOString().slice(0, 19));
  return `${found.by} has been changing this environment since ${since}Z. Wait until that run has ended. If its machine is gone: the lock ends at ${until}Z, or now with --take-over lock`;
}

/**
 * **One run at a time changes an environment**: a row of the table `deployment`, written only over what was read. A run that was killed is continued
 * at once from the same folder, and from elsewhere when its lock ends. A first deployment takes it when the table exists; before that, the recorded
 * fingerprint of the key decides (ADR 32).
 */
export class RunLock {
  readonly #session: Session;
  #held: { readonly database: string; readonly value: string } | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  static async run(session: Session, work: (lock: RunLock) => Promise<void>): Promise<void> {
    const { inventory, names } = session;
    const lock = new RunLock(session);
    const database = inventory.databases.get(names.databases["DB"]!);
    if (database !== undefined && inventory.recorded !== undefined) await lock.take(database);
    try {
      await work(lock);
    } finally {
      await lock.#release();
    }
  }

  /** Throws a refusal if another run has it. */
  async take(database: string): Promise<void> {
    if (this.#held !== undefined) return;
    const { inventory, environment, directory } = this.#session;
    const nowMs = Date.now();
    const own = { deadId: deadRun(directory), isAgreed: environment.takeOver.has(lockRow), nowMs };
    refuse(inventory.lock, own);
    const by = `${userInfo().username} on ${hostname()}`;
    const lock: Lock = { id: randomBytes(9).toString("base64url"), by, sinceMs: nowMs, untilMs: nowMs + lockMs };
    const value = JSON.stringify(lock);
    writeFileSync(join(directory, fileName), JSON.stringify({ id: lock.id, pid: process.pid }));
    const replaced = inventory.lock === undefined ? "" : `OR value = ${quote(inventory.lock)}`;
    const [row] = await query(
      this.#session,
      database,
      `INSERT INTO deployment (name, value, set_at_ms) VALUES ('${lockRow}', ${quote(value)}, ${nowMs})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_at_ms = excluded.set_at_ms WHERE value = excluded.value ${replaced};
       SELECT value FROM deployment WHERE name = '${lockRow}'`,
    );
    const stored = String(row?.["value"]);
    if (stored !== value) refuse(stored, { ...own, isAgreed: false, deadId: undefined });
    this.#held = { database, value };
  }

  /** A restored or deleted database does not have it any more. */
  async #release(): Promise<void> {
    if (this.#held === undefined) return;
    const { database, value } = this.#held;
    const sql = `DELETE FROM deployment WHERE name = '${lockRow}' AND value = ${quote(value)}`;
    await query(this.#session, database, sql).then(
      () => rmSync(join(this.#session.directory, fileName), { force: true }),
      () => undefined,
    );
  }
}

function refuse(stored: string | undefined, own: Parameters<typeof whyLocked>[1]): void {
  const why = whyLocked(stored === undefined ? undefined : (JSON.parse(stored) as Lock), own);
  if (why !== undefined) throw new Refusal([why]);
}

/** The id of the last run of this folder, if its process is gone. */
function deadRun(directory: string): string | undefined {
  let found: { readonly id: string; readonly pid: number };
  try {
    found = JSON.parse(readFileSync(join(directory, fileName), "utf8")) as typeof found;
  } catch {
    return undefined;
  }
  try {
    process.kill(found.pid, 0);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? found.id : undefined;
  }
}
