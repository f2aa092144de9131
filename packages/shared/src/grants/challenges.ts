import type { StorageBindings } from "../cache/read-through.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { ChallengeStoreRpc } from "../objects/challenge-store.ts";
import { randomBase64Url } from "../runtime/bytes.ts";
import { callObject, shardStub } from "../sharding/call-object.ts";
import { formatOpaqueId, parseOpaqueId } from "../sharding/shard-address.ts";
import type { ShardMap } from "../sharding/shard-map.ts";

export interface ChallengeBindings extends StorageBindings {
  readonly CHALLENGE_STORE: DurableObjectNamespace<ChallengeStoreRpc>;
}

/** A stored value is found only as the kind it was stored as: the id of one kind names nothing of another. */
export type ChallengeKind = "authorization-request" | "interaction" | "logout-request" | "passkey-ceremony";

/**
 * **Things that are spent once**: by a key that the caller brings (an assertion's `jti`), or by an opaque id of ours that
 * carries its shard. Cost: 1 object call; `spendOnce` one a live generation, so two for a while after a new one opens.
 *
 * A brought key must meet the same shard wherever and whenever it is shown, so it is spent in every live generation: two
 * isolates, one of which has not heard of an opening or a retirement, still share a generation, as those are hours apart.
 * One after the other, oldest first: whoever loses stops at once, so of many exactly one wins.
 */
export class Challenges {
  readonly #shardMap: ShardMap;

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  /** True exactly once for a key until `untilMs`. A call that fails may have spent the key: its retry is refused. */
  async spendOnce(context: RequestContext<ChallengeBindings>, key: string, untilMs: number): Promise<boolean> {
    const table = await this.#shardMap.table(context);
    for (const address of table.homes("challenge", key)) {
      const region = table.find("challenge", address)!;
      const stub = shardStub(context.env.CHALLENGE_STORE, "challenge", address, region);
      if (!(await callObject("challenge store", () => stub.spendOnce(`s:${key}`, untilMs)))) return false;
    }
    return true;
  }

  /** Stores a value and returns the id to take it by. */
  async put(
    context: RequestContext<ChallengeBindings>,
    kind: ChallengeKind,
    value: string,
    untilMs: number,
  ): Promise<string> {
    const random = randomBase64Url(32);
    const address = await this.#shardMap.place(context, "challenge", random);
    const id = formatOpaqueId("ch", address, random);
    await this.#call(context, kind, id, (stub, key) => stub.put(key, value, untilMs));
    return id;
  }

  /** The value, left where it is; `undefined` for an id that is unknown, of another kind, spent, expired or malformed. */
  peek(context: RequestContext<ChallengeBindings>, kind: ChallengeKind, id: string): Promise<string | undefined> {
    return this.#call(context, kind, id, (stub, key) => stub.peek(key));
  }

  /** The value, for the one caller that gets it. */
  take(context: RequestContext<ChallengeBindings>, kind: ChallengeKind, id: string): Promise<string | undefined> {
    return this.#call(context, kind, id, (stub, key) => stub.take(key));
  }

  async #call<T>(
    context: RequestContext<ChallengeBindings>,
    kind: ChallengeKind,
    id: string,
    call: (stub: DurableObjectStub<ChallengeStoreRpc>, key: string) => Promise<T>,
  ): Promise<T | undefined> {
    const parsed = parseOpaqueId("ch", id);
    if (parsed === undefined) return undefined;
    const region = await this.#shardMap.locateUnverified(context, "challenge", parsed.address);
    if (region === undefined) return undefined;
    const stub = shardStub(context.env.CHALLENGE_STORE, "challenge", parsed.address, region);
    return callObject("challenge store", () => call(stub, `v:${kind}:${parsed.random}`));
  }
}
