import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { type DurableProofs, ProofMachine, type SpentProof } from "./proof-machine.ts";

/** Without proofs for this long, the memory is saved: the platform discards it after 10 s without a call. */
const idleMs = 5_000;

/** Where the ledger keeps its row. */
export interface ProofRow {
  read(): DurableProofs | undefined;
  write(proofs: DurableProofs): void;
}

/**
 * **The used DPoP proofs of a shard** (protocols.md §6), in memory while they are used, in one row while they are not. Cost: one row written for the
 * first proof, one in 30 s while others follow, and one after 5 s without any.
 */
export class ProofLedger {
  readonly #row: ProofRow;
  readonly #machine: ProofMachine;
  #usedAtMs = 0;
  #isClosing = false;

  constructor(row: ProofRow) {
    this.#row = row;
    this.#machine = new ProofMachine(row.read(), randomBase64Url(8));
  }

  /** `true`: accepted, for this operation; `false`: used before. Text: the name of this memory, which the nonce must contain. */
  spend(proof: SpentProof, atMs: number): boolean | string | "full" {
    const judged = this.#machine.judge(proof, atMs);
    if (judged === "newer") return this.#machine.boot;
    if (judged === "used") return false;
    const due = this.#machine.due(atMs);
    if (due !== undefined) {
      this.#row.write(due);
      this.#machine.hold(due);
    }
    if (judged === "first" && !this.#machine.remember(proof)) return "full";
    this.#usedAtMs = atMs;
    this.#closeLater(idleMs);
    return true;
  }

  contains(entry: Parameters<ProofMachine["contains"]>[0]): boolean {
    return this.#machine.contains(entry);
  }

  /** Saves the memory if it was not used for {@link idleMs}; returns when to look again. */
  close(atMs: number): number | undefined {
    if (!this.#machine.isHeld) return undefined;
    const waitMs = this.#usedAtMs + idleMs - atMs;
    if (waitMs > 0) return waitMs;
    const saved = this.#machine.saved(atMs);
    if (saved === undefined) return idleMs;
    this.#row.write(saved);
    this.#machine.hold(saved);
    return undefined;
  }

  /** A timer keeps the object in memory until then. */
  #closeLater(waitMs: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    setTimeout(() => {
      this.#isClosing = false;
      const againMs = this.close(nowMs());
      if (againMs !== undefined) this.#closeLater(againMs);
    }, waitMs);
  }
}

/**
 * **The row of the ledger.**
 *
 *   used_proofs(boot, held_until_ms, fence_ms, at_ms, proofs)   one row: `DurableProofs`
 */
export function proofRow(sql: SqlStorage): ProofRow {
  sql.exec(`
    CREATE TABLE IF NOT EXISTS used_proofs (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      boot TEXT NOT NULL, held_until_ms INTEGER, fence_ms INTEGER NOT NULL, at_ms INTEGER NOT NULL, proofs BLOB NOT NULL);`);
  return {
    read: () => {
      const [row] = sql.exec<StoredProofs>("SELECT * FROM used_proofs").toArray();
      if (row === undefined) return undefined;
      const { boot, held_until_ms: heldUntilMs, fence_ms: fenceMs, at_ms: atMs, proofs } = row;
      return { boot, heldUntilMs, fenceMs, atMs, table: new Uint8Array(proofs) };
    },
    write: ({ boot, heldUntilMs, fenceMs, atMs, table }) => {
      const insert = "INSERT OR REPLACE INTO used_proofs VALUES (1, ?, ?, ?, ?, ?)";
      sql.exec(insert, boot, heldUntilMs, fenceMs, atMs, table.buffer);
    },
  };
}

type StoredProofs = {
  readonly boot: string;
  readonly held_until_ms: number | null;
  readonly fence_ms: number;
  readonly at_ms: number;
  readonly proofs: ArrayBuffer;
};
