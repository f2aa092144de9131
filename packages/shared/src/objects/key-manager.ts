import type { KeyAlgorithm } from "../config/key-algorithms.ts";
import type { FactsRpc } from "./facts-object.ts";
import type { KeySchedule } from "./key-schedule.ts";

/** **The RPC interface of `KeyManager`.** One object, named `keys`; isolates follow the schedule by time and rarely call it. */
export interface KeyManagerRpc extends FactsRpc {
  /** The schedule; the first call of a new deployment creates it. Keys of `wanted` algorithms are made if there are none. */
  schedule(wanted?: readonly KeyAlgorithm[]): Promise<KeySchedule>;
  /** Announces a successor that signs as soon as K1 allows, and returns its kid. Idempotent by `operationId`. */
  rotate(alg: KeyAlgorithm, operationId: string): Promise<RotateKeyResult>;
  /** Drops a key at once and activates the announced successor (or makes one). The caller then records a change of kind `keys` and publishes it. */
  revokeKey(kid: string, operationId: string): Promise<{ readonly kind: "revoked" } | { readonly kind: "unknown" }>;
}

/** `full`: so many keys are still published that another one would outgrow what isolates and relying parties read. */
export type RotateKeyResult =
  | { readonly kind?: never; readonly kid: string; readonly signFromMs: number }
  | { readonly kind: "full"; readonly possibleFromMs: number };

export const keyManagerName = "keys";
