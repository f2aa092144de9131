/** A mail waits for its change (`prepared`), for its recipients (`released`), or for the provider (`addressed`). */
export const mailSteps = ["prepared", "released", "addressed"] as const;
export type MailStep = (typeof mailSteps)[number];

export interface MailRow {
  readonly id: string;
  readonly step: MailStep;
  readonly tries: number;
  /** Sealed. */
  readonly content: string;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly untilMs: number;
}

interface StoredRow extends Record<string, SqlStorageValue> {
  readonly id: string;
  readonly step: number;
  readonly tries: number;
  readonly content: string;
  readonly created_at_ms: number;
  readonly due_at_ms: number;
  readonly until_ms: number;
}

/**
 * **The mails that wait.** Each method is synchronous. A row is deleted when its mail is sent or given up, at the latest soon after `until_ms`.
 *
 *   mails(id, step, tries, content, created_at_ms, due_at_ms, until_ms)
 */
export class MailRows {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS mails (
        id TEXT PRIMARY KEY, step INTEGER NOT NULL, tries INTEGER NOT NULL, content TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL, due_at_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS mails_due ON mails (tries, due_at_ms);`);
  }

  insert({ id, step, tries, content, createdAtMs, dueAtMs, untilMs }: MailRow): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO mails VALUES (?, ?, ?, ?, ?, ?, ?)",
      id,
      mailSteps.indexOf(step),
      tries,
      content,
      createdAtMs,
      dueAtMs,
      untilMs,
    );
  }

  release(id: string, nowMs: number): void {
    this.#sql.exec("UPDATE mails SET step = 1, due_at_ms = ? WHERE id = ? AND step = 0", nowMs, id);
  }

  /** New mails come before repeated ones, so a backlog of refused mails does not delay them; otherwise in the order in which they are due. */
  due(nowMs: number, limit: number): MailRow[] {
    const found = this.#sql.exec<StoredRow>(
      "SELECT * FROM mails WHERE due_at_ms <= ? ORDER BY tries, due_at_ms LIMIT ?",
      nowMs,
      limit,
    );
    return found.toArray().map((row) => ({
      id: row.id,
      step: mailSteps[row.step]!,
      tries: row.tries,
      content: row.content,
      createdAtMs: row.created_at_ms,
      dueAtMs: row.due_at_ms,
      untilMs: row.until_ms,
    }));
  }

  /** Not if it was released since it was read. */
  defer({ id, step }: MailRow, dueMs: number, tries: number): void {
    this.#sql.exec(
      "UPDATE mails SET due_at_ms = ?, tries = ? WHERE id = ? AND step = ?",
      dueMs,
      tries,
      id,
      mailSteps.indexOf(step),
    );
  }

  /** Likewise. */
  delete({ id, step }: MailRow): void {
    this.#sql.exec("DELETE FROM mails WHERE id = ? AND step = ?", id, mailSteps.indexOf(step));
  }

  /** One mail becomes one for each address. */
  replace(id: string, addressed: readonly MailRow[]): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM mails WHERE id = ?", id);
      for (const row of addressed) this.insert(row);
    });
  }

  nextDueMs(): number | undefined {
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(due_at_ms) AS next FROM mails").one();
    return next ?? undefined;
  }

  count(): number {
    return this.#sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM mails").one().rows;
  }

  /** Mails that the provider did not accept yet. */
  refused(): { readonly refused: number; readonly refusedSinceMs: number | undefined } {
    const { refused, since } = this.#sql
      .exec<{ refused: number; since: number | null }>(
        "SELECT count(*) AS refused, min(created_at_ms) AS since FROM mails WHERE tries > 0",
      )
      .one();
    return { refused, refusedSinceMs: since ?? undefined };
  }
}
