import type { FactsRpc } from "../config/facts-rpc.ts";

/** One use of a key. */
export interface Spend {
  readonly key: string;
  readonly untilMs: number;
  /** The operation of the caller's request: a repeated call finds its own earlier result. */
  readonly operationId: string;
}

/** One attempt at a code that the caller has compared. */
export interface CountedAttempt {
  readonly isRight: boolean;
  /** Wrong attempts that are allowed. */
  readonly most: number;
  /** Not before the code has ended; the same for each attempt. */
  readonly untilMs: number;
}

/** `over`: the code was used, or there were too many wrong attempts, this one included. */
export type AttemptOutcome = "right" | "wrong" | "over";

/**
 * **The RPC interface of a `ChallengeStore` shard**: single-use values (client assertion ids, WebAuthn challenges, pushed requests,
 * large flows). Times are epoch milliseconds.
 */
export interface ChallengeStoreRpc extends FactsRpc {
  /** True exactly once for each key until its `untilMs`, also for concurrent calls; one durable commit; idempotent for an operation. */
  spendEach(spends: readonly Spend[]): Promise<readonly boolean[]>;
  /** Stores a value that can be taken once. False if the key exists. */
  put(key: string, value: string, untilMs: number): Promise<boolean>;
  /** Reads the value without taking it. */
  peek(key: string): Promise<string | undefined>;
  /** Reads and takes the value. */
  take(key: string): Promise<string | undefined>;
  /** Counts an attempt. Of any number of concurrent ones, `most` wrong ones count, and one right one is `right`. */
  attempt(key: string, attempt: CountedAttempt): Promise<AttemptOutcome>;
}
