import { leaseTiming } from "@edge-op/shared/config/lease-timing";
import type { PresentedProof } from "@edge-op/shared/storage/challenges";
import { ProofTable, type TableEntry } from "./proof-table.ts";

/** How long an instance may accept proofs from memory after a durable write: it writes one row in this time, whatever it accepts. */
export const proofHoldMs = 30_000;
/** Of used proofs in memory: about 1,000 a second. Further ones are rows. */
const tableBytes = 4 * 1024 * 1024;
/** The largest value of one row is 2 MB. More is kept in memory until enough of it has ended. */
const savedBytes = 1024 * 1024;

/** What an instance leaves to the next one. */
export interface DurableProofs {
  /** The name of the memory: a nonce that contains it was issued while this memory existed. */
  readonly boot: string;
  /** `null`: `table` is all that the memory contained. Otherwise the memory is lost when its instance ends, which accepts nothing after this time. */
  readonly heldUntilMs: number | null;
  /** Proofs that can have been made before are accepted only with the name of the memory in their nonce. */
  readonly fenceMs: number;
  /** The clock of the shard: what has ended by then is forgotten. */
  readonly atMs: number;
  readonly table: Uint8Array<ArrayBuffer>;
}

export interface SpentProof extends TableEntry, PresentedProof {
  readonly untilMs: number;
}

const nothing = new Uint8Array(0);

/**
 * **Used DPoP proofs of a shard, in memory** (protocols.md §6). Pure: the caller writes what {@link due} and {@link saved} return before it applies
 * them, and no response leaves before that is durable. P1 a proof is accepted once: it is in this memory, or it is refused as older than this memory.
 * P2 the memory of an instance that ended unsaved is replaced by one with another name, whose fence is past the time until which that instance, if it
 * was superseded and does not know, may accept.
 */
export class ProofMachine {
  readonly #table = new ProofTable(tableBytes);
  readonly boot: string;
  readonly #fenceMs: number;
  #atMs: number;
  #heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(durable: DurableProofs | undefined, newBoot: string) {
    this.#atMs = durable?.atMs ?? 0;
    if (durable?.heldUntilMs === null) {
      this.boot = durable.boot;
      this.#fenceMs = durable.fenceMs;
      this.#table.load(durable.table);
      return;
    }
    this.boot = newBoot;
    this.#fenceMs = this.fenceAfter(durable);
  }

  /** No clock shows this time before the instance that wrote `heldUntilMs` has accepted its last proof. */
  fenceAfter(durable: DurableProofs | undefined): number {
    if (durable === undefined || durable.heldUntilMs === null) return durable?.fenceMs ?? 0;
    return Math.max(durable.fenceMs, durable.heldUntilMs + leaseTiming.clockOffsetMs);
  }

  get bytes(): number {
    return this.#table.bytes;
  }

  /** `first`: to be accepted, once a hold is durable and it is remembered. `newer`: the client must prove that it is newer than this memory. */
  judge(proof: SpentProof, nowMs: number): "first" | "same" | "used" | "newer" {
    const atMs = this.pass(nowMs);
    // Nothing would remember it.
    if (proof.untilMs <= atMs) return "used";
    const found = this.#table.find(proof);
    if (found !== "absent") return found === "same" ? "same" : "used";
    return this.isNewer(proof) ? "first" : "newer";
  }

  /** Whether no other memory can have accepted the proof, or will: a superseded one may not know its successor, whose name a nonce contains. */
  isNewer({ boot, notBeforeMs }: PresentedProof): boolean {
    return boot === undefined ? notBeforeMs > this.#fenceMs : boot === this.boot;
  }

  /** The clock of the shard never goes back, whichever instance reads it: what was forgotten stays refused. */
  pass(nowMs: number): number {
    this.#atMs = Math.max(this.#atMs, nowMs);
    this.#table.forget(this.#atMs);
    return this.#atMs;
  }

  /** False if the memory is full. */
  remember(proof: SpentProof): boolean {
    return this.#table.add(proof, proof.untilMs);
  }

  contains(entry: TableEntry): boolean {
    return this.#table.find(entry) !== "absent";
  }

  /** What must be written before a proof is accepted; usually `undefined`. */
  due(nowMs: number): DurableProofs | undefined {
    const atMs = this.pass(nowMs);
    if (atMs < this.#heldUntilMs) return undefined;
    return this.#durable(atMs + proofHoldMs, nothing);
  }

  /** Applies a hold that was written. */
  hold({ heldUntilMs }: Pick<DurableProofs, "heldUntilMs">): void {
    this.#heldUntilMs = heldUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  get isHeld(): boolean {
    return this.#heldUntilMs !== Number.NEGATIVE_INFINITY;
  }

  /** What to write so that the next instance continues with this memory; `undefined` while it is too large. Applied by {@link hold}. */
  saved(nowMs: number): DurableProofs | undefined {
    this.pass(nowMs);
    return this.#table.savedBytes <= savedBytes ? this.#durable(null, this.#table.save()) : undefined;
  }

  #durable(heldUntilMs: number | null, table: Uint8Array<ArrayBuffer>): DurableProofs {
    return { boot: this.boot, heldUntilMs, fenceMs: this.#fenceMs, atMs: this.#atMs, table };
  }
}
