import { isNumber, isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import type { NewSession, Proof, Session } from "@edge-op/shared/sessions/session-rpc";

export interface SessionRow extends Record<string, SqlStorageValue> {
  readonly sid: string;
  readonly key: string;
  readonly sub: string;
  readonly signed_in_at_ms: number;
  readonly proofs: string;
  readonly idle_ms: number;
  readonly seen_at_ms: number;
  readonly ends_at_ms: number;
  readonly ended_at_ms: number | null;
}

export type SessionName = { readonly key: string } | { readonly sid: string };

/** All of them are proofs of the session's user. */
type StoredProof = Omit<Proof, "sub">;

const isStoredProof = objectOf<StoredProof>({ method: isText, atMs: isNumber, controlVersion: isNumber });

export function toTimes(row: SessionRow): SessionTimes {
  return { seenAtMs: row.seen_at_ms, idleMs: row.idle_ms, endsAtMs: row.ends_at_ms };
}

export function toSession(row: SessionRow): Session {
  return {
    sid: row.sid,
    sub: row.sub,
    signedInAtMs: row.signed_in_at_ms,
    proofs: readStored("proofs", row.proofs, listOf(isStoredProof)).map((proof) => ({ ...proof, sub: row.sub })),
    endsAtMs: row.ends_at_ms,
  };
}

/**
 * **The rows of sessions.** The row of an ended session is kept until its owner deletes it. Synchronous: called in the owner's transactions.
 *
 *   sessions(sid, key, sub, signed_in_at_ms, proofs, idle_ms, seen_at_ms, ends_at_ms, ended_at_ms, dies_at_ms) dies_at_ms: when a sweep looks at it
 */
export class SessionRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS sessions (
        sid TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, sub TEXT NOT NULL, signed_in_at_ms INTEGER NOT NULL,
        proofs TEXT NOT NULL, idle_ms INTEGER NOT NULL, seen_at_ms INTEGER NOT NULL,
        ends_at_ms INTEGER NOT NULL, ended_at_ms INTEGER, dies_at_ms INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS sessions_dying ON sessions (dies_at_ms);`);
  }

  find(by: SessionName): SessionRow | undefined {
    const found =
      "key" in by
        ? this.#sql.exec<SessionRow>("SELECT * FROM sessions WHERE key = ?", by.key)
        : this.#sql.exec<SessionRow>("SELECT * FROM sessions WHERE sid = ?", by.sid);
    return found.toArray()[0];
  }

  /** Returns when the session ends if it is not used. */
  insert(session: NewSession, atMs: number): number {
    const diesAt = diesAtMs({ seenAtMs: atMs, idleMs: session.idleMs, endsAtMs: session.endsAtMs });
    this.#sql.exec(
      "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
      session.sid,
      session.key,
      session.sub,
      session.signedInAtMs,
      JSON.stringify(session.proofs.map(({ sub: _, ...stored }): StoredProof => stored)),
      session.idleMs,
      atMs,
      session.endsAtMs,
      diesAt,
    );
    return diesAt;
  }

  touch(row: SessionRow, atMs: number): void {
    if (!isUseWorthRecording(toTimes(row), atMs)) return;
    const diesAt = diesAtMs({ ...toTimes(row), seenAtMs: atMs });
    this.#sql.exec("UPDATE sessions SET seen_at_ms = ?, dies_at_ms = ? WHERE sid = ?", atMs, diesAt, row.sid);
  }

  /** Marks the session as ended; a sweep checks its row at `sweepAtMs`. */
  end(sid: string, atMs: number, sweepAtMs: number): void {
    this.#sql.exec(
      "UPDATE sessions SET ended_at_ms = coalesce(ended_at_ms, ?), dies_at_ms = ? WHERE sid = ?",
      atMs,
      sweepAtMs,
      sid,
    );
  }

  delete(sid: string): void {
    this.#sql.exec("DELETE FROM sessions WHERE sid = ?", sid);
  }

  dying(atMs: number, most: number): readonly SessionRow[] {
    return this.#sql
      .exec<SessionRow>("SELECT * FROM sessions WHERE dies_at_ms <= ? ORDER BY dies_at_ms LIMIT ?", atMs, most)
      .toArray();
  }

  nextDeathMs(): number | undefined {
    return (
      this.#sql.exec<{ dies: number | null }>("SELECT min(dies_at_ms) AS dies FROM sessions").one().dies ?? undefined
    );
  }
}

/**
 * **The lifetime of a session and the recording of its use.** Pure. A session ends at its absolute end or after `idleMs` without use, whichever comes
 * first. Uses are recorded in steps, so that a busy session does not write on every request.
 */
interface SessionTimes {
  readonly seenAtMs: number;
  readonly idleMs: number;
  readonly endsAtMs: number;
}

/** A session may end this fraction of its idle time early, because not every use is recorded. */
const recordedSteps = 32;

function diesAtMs({ seenAtMs, idleMs, endsAtMs }: SessionTimes): number {
  return Math.min(endsAtMs, seenAtMs + idleMs);
}

export function isAlive(times: SessionTimes, nowMs: number): boolean {
  return nowMs < diesAtMs(times);
}

function isUseWorthRecording({ seenAtMs, idleMs }: SessionTimes, nowMs: number): boolean {
  return nowMs - seenAtMs >= idleMs / recordedSteps;
}
