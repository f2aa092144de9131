import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import type { KeySchedule, ScheduledKey } from "@edge-op/shared/keys/key-schedule";
import { nowMs } from "@edge-op/shared/runtime/clock";

/**
 * **The rows of KeyManager's keys and of their revision.**
 *
 *   keys(kid, alg, public_jwk, wrapped_private_key, publish_at_ms … retire_at_ms, known_from_ms)   deleted at retire_at_ms
 *   key_revision(revision, announced)        one row: increased by every change; the revision that every isolate knows
 */
export class KeyRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS keys (
        kid TEXT PRIMARY KEY, alg TEXT NOT NULL, public_jwk TEXT NOT NULL, wrapped_private_key TEXT NOT NULL,
        publish_at_ms INTEGER NOT NULL, sign_from_ms INTEGER NOT NULL, sign_until_ms INTEGER NOT NULL,
        retire_at_ms INTEGER NOT NULL, known_from_ms INTEGER) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS key_revision (
        id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, announced INTEGER NOT NULL);
      INSERT OR IGNORE INTO key_revision VALUES (1, 0, 0);`);
  }

  schedule(): KeySchedule {
    return { keys: this.all(), revision: this.#revision().revision };
  }

  get announced(): number {
    return this.#revision().announced;
  }

  #revision(): { readonly revision: number; readonly announced: number } {
    return this.#sql.exec<{ revision: number; announced: number }>("SELECT * FROM key_revision").one();
  }

  markAnnounced({ keys, revision }: KeySchedule, knownFromMs: number): void {
    for (const { kid } of keys) {
      const update = "UPDATE keys SET known_from_ms = ? WHERE kid = ? AND known_from_ms IS NULL";
      this.#sql.exec(update, knownFromMs, kid);
    }
    this.#sql.exec("UPDATE key_revision SET announced = ?", revision);
  }

  /** When the next announced key is known everywhere. */
  nextKnownMs(): number | undefined {
    const query = "SELECT min(known_from_ms) AS at FROM keys WHERE known_from_ms > ?";
    return this.#sql.exec<{ at: number | null }>(query, nowMs()).one().at ?? undefined;
  }

  all(): ScheduledKey[] {
    const atMs = nowMs();
    return this.#sql
      .exec<KeyRow>("SELECT * FROM keys ORDER BY alg, sign_from_ms, kid")
      .toArray()
      .map((row) => ({
        kid: row.kid,
        alg: row.alg,
        publicJwk: readStored("public key", row.public_jwk, isPublicJwk),
        wrappedPrivateKey: row.wrapped_private_key,
        publishAtMs: row.publish_at_ms,
        signFromMs: row.sign_from_ms,
        signUntilMs: row.sign_until_ms,
        retireAtMs: row.retire_at_ms,
        ...(row.known_from_ms === null || row.known_from_ms > atMs ? { isNew: true as const } : {}),
      }));
  }

  /**
   * Replaces wrapped keys, except those that have changed meanwhile. A change of the schedule: a copy that an isolate or KV keeps must not need the
   * previous master key. Returns whether there was one.
   */
  rewrap(keys: readonly Rewrapped[]): boolean {
    let count = 0;
    for (const { kid, wrappedPrivateKey, rewrapped } of keys) {
      const update = "UPDATE keys SET wrapped_private_key = ? WHERE kid = ? AND wrapped_private_key = ?";
      count += this.#sql.exec(update, rewrapped, kid, wrappedPrivateKey).rowsWritten;
    }
    if (count > 0) this.#sql.exec("UPDATE key_revision SET revision = revision + 1");
    return count > 0;
  }

  /** The first keys of a deployment are known from the start: no isolate has a schedule without them. */
  write(keys: readonly ScheduledKey[], before: readonly ScheduledKey[]): void {
    const isFirst = this.#revision().revision === 0;
    const kept = new Set(keys.map(({ kid }) => kid));
    for (const { kid } of before) if (!kept.has(kid)) this.#sql.exec("DELETE FROM keys WHERE kid = ?", kid);
    for (const key of keys) {
      this.#sql.exec(
        `INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kid) DO UPDATE SET publish_at_ms = excluded.publish_at_ms,
           sign_from_ms = excluded.sign_from_ms, sign_until_ms = excluded.sign_until_ms, retire_at_ms = excluded.retire_at_ms`,
        key.kid,
        key.alg,
        JSON.stringify(key.publicJwk),
        key.wrappedPrivateKey,
        key.publishAtMs,
        key.signFromMs,
        key.signUntilMs,
        key.retireAtMs,
        isFirst ? 0 : null,
      );
    }
    this.#sql.exec("UPDATE key_revision SET revision = revision + 1, announced = announced + ?", isFirst ? 1 : 0);
  }
}

export interface Rewrapped extends Pick<ScheduledKey, "kid" | "wrappedPrivateKey"> {
  readonly rewrapped: string;
}

const isPublicJwk = objectOf<JsonWebKey>({ kty: isText });

type KeyRow = {
  readonly kid: string;
  readonly alg: KeyAlgorithm;
  readonly public_jwk: string;
  readonly wrapped_private_key: string;
  readonly publish_at_ms: number;
  readonly sign_from_ms: number;
  readonly sign_until_ms: number;
  readonly retire_at_ms: number;
  readonly known_from_ms: number | null;
};
