import { isolateMemory } from "../config/limits.ts";
import { ShardReplica } from "./shard-replica.ts";

/** **The replicas of an isolate**, by shard: of shards that requests have used, and of those that its relay has sent. */
export class ShardReplicas {
  readonly #replicas = new Map<string, ShardReplica>();

  of(shard: string): ShardReplica {
    const known = this.#replicas.get(shard);
    if (known !== undefined) return known;
    const replica = new ShardReplica();
    this.#replicas.set(shard, replica);
    return replica;
  }

  /** The estimated size of all replicas. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { bytes: held } of this.#replicas.values()) bytes += held;
    return bytes;
  }

  get isFull(): boolean {
    return this.heldBytes > isolateMemory.revocationReplicas;
  }

  /** The shard with the most rows. */
  largest(): string {
    return [...this.#replicas].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a))[0];
  }

  delete(shard: string): void {
    this.#replicas.delete(shard);
  }

  /** The shards that are not in `live`. */
  outside(live: ReadonlySet<string>): readonly string[] {
    return [...this.#replicas.keys()].filter((shard) => !live.has(shard));
  }
}
