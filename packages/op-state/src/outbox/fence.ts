/**
 * **Keeps a superseded instance from answering** (ADR 15). The platform finds out that an instance has a successor when it
 * writes; one that only reads may answer from what it once was. `pass` writes, and the platform holds everything that the
 * instance sends until the write is durable: a superseded instance's reply becomes an error. Call it in the turn of the read that
 * the reply, or the next call, rests on. A method that writes in any case needs none. Cost: one durable write.
 *
 *   fence(passes)   one row
 */
export class Fence {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 1), passes INTEGER NOT NULL);
      INSERT OR IGNORE INTO fence VALUES (1, 0);`);
  }

  pass(): void {
    this.#sql.exec("UPDATE fence SET passes = passes + 1");
  }
}
