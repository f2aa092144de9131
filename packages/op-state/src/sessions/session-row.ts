import type { Session } from "@edge-op/shared/objects/session-store";
import type { SessionTimes } from "./session-machine.ts";

/** **The row of a session**, and its conversions. */
export interface SessionRow extends Record<string, SqlStorageValue> {
  readonly sid: string;
  readonly key: string;
  readonly sub: string;
  readonly signed_in_at_ms: number;
  readonly acr: string;
  readonly amr: string;
  readonly idle_ms: number;
  readonly seen_at_ms: number;
  readonly ends_at_ms: number;
}

export function toTimes(row: SessionRow): SessionTimes {
  return { seenAtMs: row.seen_at_ms, idleMs: row.idle_ms, endsAtMs: row.ends_at_ms };
}

export function toSession(row: SessionRow): Session {
  return {
    sid: row.sid,
    sub: row.sub,
    signedInAtMs: row.signed_in_at_ms,
    acr: row.acr,
    amr: JSON.parse(row.amr) as string[],
    endsAtMs: row.ends_at_ms,
  };
}
