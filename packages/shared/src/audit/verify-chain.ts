import { sha256 } from "../runtime/bytes.ts";
import { type AuditMessage, chainStart, chainText } from "./audit-event.ts";

/** **SHA-256 of an event**, hex, as the outbox computed it if nobody changed the event since. */
export async function hashEvent(event: Omit<AuditMessage, "hash">): Promise<string> {
  const digest = await sha256(chainText(event));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * **Finds the first event of a shard's history that was edited, removed, inserted or moved** (A3): its seq, or `undefined`
 * for an unbroken chain. `events` are in order of seq and begin at `after`, the anchor already trusted.
 */
export async function findBreak(
  events: readonly AuditMessage[],
  after: { readonly seq: number; readonly hash: string } = { seq: 0, hash: chainStart },
): Promise<number | undefined> {
  let { seq, hash } = after;
  for (const event of events) {
    if (event.seq !== seq + 1 || event.previous !== hash || event.hash !== (await hashEvent(event))) return seq + 1;
    ({ seq, hash } = event);
  }
  return undefined;
}
