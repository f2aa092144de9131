import type { KeyAlgorithm } from "@edge-op/protocol/jwt/key-algorithms";
import type { FactsRpc } from "../config/facts-rpc.ts";
import type { KeySchedule } from "./key-schedule.ts";

/** **The RPC interface of `KeyManager`.** One object, named `keys`; isolates follow the schedule by time and rarely call it. */
export interface KeyManagerRpc extends FactsRpc {
  /**
   * The schedule; the first call of a new deployment creates it. Creates keys for `wanted` algorithms that have none. They sign when they have been
   * announced, for which the call waits at most 3 s with `signs`.
   */
  schedule(wanted?: readonly KeyAlgorithm[], signs?: boolean): Promise<KeySchedule>;
  /** Announces a successor that signs as soon as K1 allows, and returns its kid. Idempotent by `operationId`. */
  rotate(alg: KeyAlgorithm, operationId: string): Promise<RotateKeyResult>;
  /**
   * Removes a key at once and activates the announced successor (or creates one). The caller then records a change of kind `keys` and publishes it.
   */
  revokeKey(kid: string, operationId: string): Promise<{ readonly kind: "revoked" } | { readonly kind: "unknown" }>;
}

/** `full`: too many keys are still published; another one would exceed the size that isolates and relying parties read. */
export type RotateKeyResult =
  | { readonly kind?: never; readonly kid: string; readonly signFromMs: number }
  | { readonly kind: "full"; readonly possibleFromMs: number };

export const keyManagerName = "keys";
