import type { FactsRpc } from "./facts-object.ts";

/**
 * **The RPC interface of a `ChallengeStore` shard**: single-use values (client assertion ids, WebAuthn challenges, pushed requests,
 * interactions). Times are epoch milliseconds.
 */
export interface ChallengeStoreRpc extends FactsRpc {
  /** True exactly once for a key until `untilMs`, also for concurrent calls. */
  spendOnce(key: string, untilMs: number): Promise<boolean>;
  /** Stores a value that can be taken once. False if the key exists. */
  put(key: string, value: string, untilMs: number): Promise<boolean>;
  /** Reads the value without taking it. */
  peek(key: string): Promise<string | undefined>;
  /** Reads and takes the value. */
  take(key: string): Promise<string | undefined>;
}
