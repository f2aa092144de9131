/**
 * **The parts of a modelled provider**: stores (each a number of objects that serve one call at a time) and the consecutive steps of each kind of
 * request. Milliseconds throughout.
 */

export interface Store {
  readonly objects: number;
  /** The work of one call, regardless of its items. */
  readonly callMs: number;
  /** The work of each item in a call. */
  readonly itemMs: number;
  /** Network round trip and the wait for a durable commit, which block the caller but not the object. */
  readonly waitMs: number;
  /** A call that would queue longer is refused as overloaded. */
  readonly longestQueueMs: number;
}

export type Step =
  /** The isolate computes; its requests queue for its one thread. */
  | { readonly kind: "cpu"; readonly ms: number }
  /** Waits without occupying anything: network, KV reads. */
  | { readonly kind: "wait"; readonly ms: number }
  /** One call for this request alone, made with a probability. */
  | { readonly kind: "call"; readonly store: string; readonly probability: number }
  /** Joins the next call of its isolate to the object: one in flight per isolate and object (docs/reference/protocols.md §2, "Sharing a call"). */
  | { readonly kind: "batched"; readonly store: string };

export interface Workload {
  readonly stores: Readonly<Record<string, Store>>;
  readonly steps: readonly Step[];
  readonly isolates: number;
  /** The number of distinct tokens or families; each belongs to one object of every store, chosen by hash. */
  readonly keys: number;
}
