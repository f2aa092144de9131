import type { IssuedToken } from "@edge-op/shared/audit/audit-log-rpc";
import type { AuditOutbox } from "./audit-outbox.ts";

/**
 * **Records issued tokens as events, up to a number per minute in the whole deployment.** Tokens beyond it are counted, and the next event contains
 * their number. Best effort: tokens that an isolate holds when it ends, and those of a failed call, are not recorded.
 */
export class IssuedTokens {
  readonly #storage: DurableObjectStorage;
  readonly #outbox: AuditOutbox;
  readonly #perMinute: () => number;
  #level = 0;
  #atMs = 0;
  #omitted = 0;

  constructor(storage: DurableObjectStorage, outbox: AuditOutbox, perMinute: () => number) {
    this.#storage = storage;
    this.#outbox = outbox;
    this.#perMinute = perMinute;
  }

  /** Returns whether half of a minute's places are used: they are reserved for isolates that have not sent any. */
  record(tokens: readonly IssuedToken[], omitted: number, nowMs: number): boolean {
    const perMinute = this.#perMinute();
    this.#level = Math.max(0, this.#level - (Math.max(0, nowMs - this.#atMs) * perMinute) / 60_000);
    this.#atMs = nowMs;
    const accepted = tokens.slice(0, Math.max(0, Math.floor(perMinute - this.#level)));
    this.#level += accepted.length;
    this.#omitted += omitted + tokens.length - accepted.length;
    this.#storage.transactionSync(() => {
      for (const token of accepted) this.#append(token, nowMs);
    });
    return this.#level * 2 > perMinute;
  }

  #append({ atMs, ...token }: IssuedToken, nowMs: number): void {
    const omitted = this.#omitted === 0 ? {} : { omittedBefore: this.#omitted };
    this.#outbox.append({ type: "token.issued", payload: { ...token, ...omitted } }, Math.min(atMs, nowMs));
    this.#omitted = 0;
  }
}

/** The time of the object for one report. */
const reportMs = 100;
/** A clock that is set back delays no report for longer. */
const longestPauseMs = 3_600_000;

/**
 * **When isolates send their next reports.** Each report is given the next free place, so the pauses grow with the number of isolates, and the number
 * of reports does not: ten a second, beside the first one of each isolate. Pure. Memory: one number.
 */
export class ReportPace {
  #freeAtMs = 0;

  /** The time until the place that is given now. */
  nextPlaceMs(nowMs: number): number {
    const waitMs = Math.min(Math.max(0, this.#freeAtMs - nowMs), longestPauseMs);
    this.#freeAtMs = nowMs + waitMs + reportMs;
    return waitMs;
  }
}
