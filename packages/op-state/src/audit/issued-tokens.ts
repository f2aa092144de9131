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
