import type { SendResult } from "./mail-provider.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A change is usually committed and released within a second. */
export const firstLookMs = 30 * second;
const nextLookMs = minute;
/** No commit that began after `prepare` ends later: D1 ends a statement, and the platform the request, long before. */
export const abandonMs = 10 * minute;
/** A notice of yesterday is of no use any more; and Resend knows an idempotency key for a day. */
export const noticeLifeMs = 24 * hour;
const retryMs = [10 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, 2 * hour] as const;
/** A provider cannot make the object wait longer. */
const longestMs = 2 * hour;

export interface MailTimes {
  readonly createdAtMs: number;
  readonly untilMs: number;
  /** Attempts that the provider did not accept. */
  readonly tries: number;
}

/** The result of reading D1: the evidence of the change, and the verified addresses of its person. */
export type Found = { readonly isCommitted: boolean; readonly addresses: readonly string[] };

/** `unreadable`: the key of its content is lost. */
type End = "no-change" | "no-address" | "sent" | "suppressed" | "expired" | "unreadable";

export type WaitOrDrop =
  | { readonly kind: "wait"; readonly dueMs: number; readonly tries: number }
  | { readonly kind: "drop"; readonly reason: End };

export type NextStep = WaitOrDrop | { readonly kind: "expand"; readonly addresses: readonly string[] };

/**
 * **The life of a mail.** Pure. A prepared mail waits until its change is known to be committed, by a release or by its evidence in D1; then one mail
 * for each address is sent until the provider has accepted it. A mail ends when it is sent, at its end, or when its change cannot be committed any
 * more. At least once: an attempt whose result is lost is repeated.
 */
export class MailMachine {
  /** `found` is `undefined` if D1 did not respond. */
  afterLookUp(mail: MailTimes, isReleased: boolean, found: Found | undefined, nowMs: number): NextStep {
    if (nowMs >= mail.untilMs) return { kind: "drop", reason: "expired" };
    if (found === undefined) return { kind: "wait", dueMs: nowMs + nextLookMs, tries: mail.tries };
    if (isReleased || found.isCommitted) {
      const { addresses } = found;
      return addresses.length === 0 ? { kind: "drop", reason: "no-address" } : { kind: "expand", addresses };
    }
    if (nowMs >= mail.createdAtMs + abandonMs) return { kind: "drop", reason: "no-change" };
    return { kind: "wait", dueMs: nowMs + nextLookMs, tries: mail.tries };
  }

  afterSend(mail: MailTimes, result: SendResult, nowMs: number): WaitOrDrop {
    if (result.kind === "sent" || result.kind === "suppressed") return { kind: "drop", reason: result.kind };
    const wanted = (result.kind === "retry" ? result.afterMs : undefined) ?? 0;
    const planned = retryMs[Math.min(mail.tries, retryMs.length - 1)]!;
    const dueMs = nowMs + Math.min(Math.max(wanted, planned), longestMs);
    if (dueMs >= mail.untilMs) return { kind: "drop", reason: "expired" };
    return { kind: "wait", dueMs, tries: mail.tries + 1 };
  }
}
