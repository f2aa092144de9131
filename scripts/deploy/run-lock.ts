import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { firstRunTable, lockRow, quote } from "./record-choices.ts";
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
 * at once from the same folder, and from elsewhere when its lock ends. A first deployment has the row in a table of its own, from the creation of
 * the database until `deployment` exists (ADR 32).
 */
export class RunLock {
  readonly #session: Session;
  #held: { readonly database: string; readonly table: string; readonly value: string } | undefined;

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

  /** Before the migrations of a first deployment. Throws a refusal if another run has begun one since this run has read the database. */
  async takeFirst(database: string): Promise<void> {
    if (this.#held !== undefined) return;
    const [row] = await query(
      this.#session,
      database,
      `CREATE TABLE IF NOT EXISTS ${firstRunTable} (name TEXT PRIMARY KEY, value TEXT NOT NULL, set_at_ms INTEGER NOT NULL);
       SELECT (SELECT value FROM ${firstRunTable} WHERE name = '${lockRow}') AS value,
         EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'deployment') AS isMade`,
    );
    if (row?.["isMade"] === 1) throw new Refusal([madeMeanwhile]);
    await this.#write(database, firstRunTable, typeof row?.["value"] === "string" ? row["value"] : undefined);
  }

  /** Throws a refusal if another run has it. */
  async take(database: string): Promise<void> {
    if (this.#held?.table === "deployment") return;
    await this.#write(database, "deployment", this.#session.inventory.lock);
    if (this.#session.inventory.recorded === undefined)
      await query(this.#session, database, `DROP TABLE IF EXISTS ${firstRunTable}`);
  }

  async #write(database: string, table: string, found: string | undefined): Promise<void> {
    const { environment, directory } = this.#session;
    const nowMs = Date.now();
    const own = { deadId: deadRun(directory), isAgreed: environment.takeOver.has(lockRow), nowMs };
    refuse(found, own);
    const by = `${userInfo().username} on ${hostname()}`;
    const lock: Lock = { id: randomBytes(9).toString("base64url"), by, sinceMs: nowMs, untilMs: nowMs + lockMs };
    const value = JSON.stringify(lock);
    writeFileSync(join(directory, fileName), JSON.stringify({ id: lock.id, pid: process.pid }));
    const replaced = found === undefined ? "" : `OR value = ${quote(found)}`;
    const [row] = await query(
      this.#session,
      database,
      `INSERT INTO ${table} (name, value, set_at_ms) VALUES ('${lockRow}', ${quote(value)}, ${nowMs})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_at_ms = excluded.set_at_ms WHERE value = excluded.value ${replaced};
       SELECT value FROM ${table} WHERE name = '${lockRow}'`,
    );
    const stored = String(row?.["value"]);
    if (stored !== value) refuse(stored, { ...own, isAgreed: false, deadId: undefined });
    this.#held = { database, table, value };
  }

  /** A restored or deleted database does not have it any more. */
  async #release(): Promise<void> {
    if (this.#held === undefined) return;
    const { database, table, value } = this.#held;
    const sql = `DELETE FROM ${table} WHERE name = '${lockRow}' AND value = ${quote(value)}`;
    await query(this.#session, database, sql).then(
      () => rmSync(join(this.#session.directory, fileName), { force: true }),
      () => undefined,
    );
  }
}

const madeMeanwhile =
  "Somebody else has made this environment since this run began. Wait until that run has ended, and run the same command again";

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
