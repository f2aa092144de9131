import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import type { AddressFailure } from "@edge-op/shared/mail/mail-sender-rpc";

const dayMs = 86_400_000;
/** A mailbox may exist again. Providers suppress such an address themselves, some for longer. */
const keptMs = 90 * dayMs;
const sweptRows = 500;
const sweepEveryMs = 3_600_000;

/**
 * **Addresses to which no mail is sent**, because mail bounced or its recipient complained. An address is stored as its hash.
 *
 *   failed_addresses(key, kind, until_ms)
 */
export class FailedAddresses {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`
      CREATE TABLE IF NOT EXISTS failed_addresses (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS failed_addresses_ending ON failed_addresses (until_ms);`);
  }

  /** Returns when the rows are to be swept. */
  add(key: string, kind: AddressFailure["kind"], nowMs: number): number {
    this.#sql.exec("INSERT OR REPLACE INTO failed_addresses VALUES (?, ?, ?)", key, kind, nowMs + keptMs);
    return nowMs + keptMs + sweepEveryMs;
  }

  find(key: string, nowMs: number): string | undefined {
    const [row] = this.#sql
      .exec<{ kind: string }>("SELECT kind FROM failed_addresses WHERE key = ? AND until_ms > ?", key, nowMs)
      .toArray();
    return row?.kind;
  }

  /** The alarm's task. Returns when it is next due. */
  sweep(nowMs: number): number | undefined {
    this.#sql.exec(
      `DELETE FROM failed_addresses WHERE key IN
         (SELECT key FROM failed_addresses WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)`,
      nowMs,
      sweptRows,
    );
    const { next } = this.#sql
      .exec<{ next: number | null }>("SELECT min(until_ms) AS next FROM failed_addresses")
      .one();
    if (next === null) return undefined;
    return next <= nowMs ? nowMs : next + sweepEveryMs;
  }
}

/** The whole address in lower case: no two people have addresses that differ in nothing else. */
export async function addressKey(address: string): Promise<string> {
  return encodeBase64Url(await sha256(address.toLowerCase()));
}
