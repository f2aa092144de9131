import { fnv1a } from "@edge-op/protocol/encoding/bytes";
import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { GenerationTable } from "../storage/generation-table.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";

/**
 * **The shards that an isolate calls for the control version, in order.** The isolate's own shard is first. A seed selects it in the region nearest
 * to the request, so that isolates spread over the shards. The others follow, from a position that the seed selects. A shard that responded in place
 * of another is first from then on. Only shards of the newest generation are called: an older one may have been retired by a change that this isolate
 * does not know yet.
 */
export class ConfirmingShards {
  readonly #shardMap: ShardMap;
  #seed: string | undefined;
  #preferred: ShardAddress | undefined;
  #newest: { readonly of: GenerationTable; readonly addresses: readonly ShardAddress[] } | undefined;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  async inTurn(context: RequestContext<StorageBindings>): Promise<readonly [ShardAddress, ...ShardAddress[]]> {
    this.#seed ??= crypto.randomUUID();
    const table = await this.#shardMap.table(context);
    const { generation } = table.newest("revocation");
    const preferred = this.#preferred?.generation === generation ? this.#preferred : undefined;
    const own = preferred ?? (await this.#shardMap.place(context, "revocation", this.#seed));
    if (this.#newest?.of !== table) {
      this.#newest = { of: table, addresses: table.live("revocation").filter((at) => at.generation === generation) };
    }
    const { addresses } = this.#newest;
    const turns: [ShardAddress, ...ShardAddress[]] = [own];
    const from = fnv1a(this.#seed);
    for (let step = 0; step < addresses.length && turns.length < limits.confirmingShards; step += 1) {
      const other = addresses[(from + step) % addresses.length]!;
      if (!isSame(own, other)) turns.push(other);
    }
    return turns;
  }

  prefer(address: ShardAddress): void {
    this.#preferred = address;
  }
}

function isSame(one: ShardAddress, other: ShardAddress): boolean {
  return one.shard === other.shard && one.region === other.region && one.generation === other.generation;
}
