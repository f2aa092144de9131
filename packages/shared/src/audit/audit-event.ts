/**
 * **An audit event on its way** from an object's outbox through the Queue to D1 (docs/reference/protocols.md §5). `seq` counts from 1
 * without gaps per shard; `hash` is SHA-256 over {@link chainText}, which includes the hash before it, so editing, removing
 * or inserting history breaks every later link (A3). Payload is text, so that everyone hashes the same bytes.
 */
export interface AuditMessage {
  /** Object name of the outbox. */
  readonly shard: string;
  readonly seq: number;
  readonly atMs: number;
  readonly type: string;
  /** {@link canonicalJson} of the payload. */
  readonly payload: string;
  /** Hash of the event before it, hex; {@link chainStart} for the first. */
  readonly previous: string;
  readonly hash: string;
  /**
   * The outbox holds no event up to this seq any more, because D1 had them all when it was sent or before. If D1 lacks some now, it
   * was set back, and they are lost. Not part of the hash. Absent from messages of versions before it.
   */
  readonly floor?: number;
}

/** Events that are lost, both ends included. */
export interface AuditGap {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** What the first event of an outbox follows. */
export const chainStart = "0".repeat(64);

/** The text whose SHA-256 is an event's hash: everything an event says and the hash before it, in one spelling. */
export function chainText(event: Omit<AuditMessage, "hash" | "floor">): string {
  const { previous, shard, seq, atMs, type, payload } = event;
  return JSON.stringify([previous, shard, seq, atMs, type, payload]);
}

/** JSON with the members of every object sorted by name, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
