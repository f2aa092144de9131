/**
 * **What a `ChallengeStore` shard answers over RPC**: things that may be spent once (client assertion ids, WebAuthn
 * challenges, pushed requests, CSRF-bound interactions). Times are epoch milliseconds.
 */
export interface ChallengeStoreRpc extends Rpc.DurableObjectBranded {
  /** True exactly once for a key until `untilMs`, however many ask at the same time. */
  spendOnce(key: string, untilMs: number): Promise<boolean>;
  /** Stores a value to be taken once. False if the key exists. */
  put(key: string, value: string, untilMs: number): Promise<boolean>;
  /** Reads without spending. */
  peek(key: string): Promise<string | undefined>;
  /** Reads and spends. */
  take(key: string): Promise<string | undefined>;
}
