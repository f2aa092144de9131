import type { ProofLife } from "@edge-op/protocol/dpop/proof-claims";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { operationId, type RequestContext } from "../http/request-context.ts";
import type { FactsRpc } from "../secrets/deployment-facts.ts";
import { callObject, shardStub, withoutTimeLimit } from "./call-object.ts";
import type { RegionShards } from "./generation-table.ts";
import type { StorageBindings } from "./read-through.ts";
import { formatOpaqueId, objectName, parseOpaqueId, type ShardAddress } from "./shard-address.ts";
import type { ShardMap } from "./shard-map.ts";
import { SharedCall } from "./shared-call.ts";

/** One use of a key. */
export interface Spend {
  readonly key: string;
  readonly untilMs: number;
  /** The operation of the caller's request: a repeated call finds its own earlier result. */
  readonly operationId: string;
  /** Of a DPoP proof, which the shard keeps in memory; without it, as the previous release sends them, in a row. */
  readonly proof?: PresentedProof;
}

/** What tells a shard whether a proof is newer than its memory (protocols.md §6). */
export interface PresentedProof {
  readonly notBeforeMs: number;
  /** The memory that the proof's nonce names. */
  readonly boot?: string | undefined;
}

/** The result of a spend. Text: the proof may be older than the memory of the shard, which has this name. */
export type SpendResult = boolean | string;

/** The store that has demanded a nonce: a shard, and the name of its memory. */
export interface ProofPlace {
  readonly address: ShardAddress;
  readonly boot: string;
}

/** One use of a DPoP proof. */
export interface ProofUse extends ProofLife {
  readonly key: string;
  /** The store that its nonce names: it is spent there alone. */
  readonly place: ProofPlace | undefined;
}

/** `newer`: the proof must contain a nonce of the `place`. */
export type SpentProof =
  | { readonly kind: "first" | "used" }
  | { readonly kind: "newer"; readonly place: ProofPlace | undefined };

/** One attempt at a code that the caller has compared. */
export interface CountedAttempt {
  readonly isRight: boolean;
  /** Wrong attempts that are allowed. */
  readonly most: number;
  /** Not before the code has ended; the same for each attempt. */
  readonly untilMs: number;
}

/** `over`: the code was used, or there were too many wrong attempts, this one included. */
export type AttemptOutcome = "right" | "wrong" | "over";

/**
 * **The RPC interface of a `ChallengeStore` shard**: single-use values (client assertion ids, WebAuthn challenges, pushed requests,
 * large flows). Times are epoch milliseconds.
 */
export interface ChallengeStoreRpc extends FactsRpc {
  /** True exactly once for each key until its `untilMs`, also for concurrent calls; at most one durable commit; idempotent for an operation. */
  spendEach(spends: readonly Spend[]): Promise<readonly SpendResult[]>;
  /** Stores a value that can be taken once. False if the key exists. */
  put(key: string, value: string, untilMs: number): Promise<boolean>;
  /** Reads the value without taking it. */
  peek(key: string): Promise<string | undefined>;
  /** Reads and takes the value. */
  take(key: string): Promise<string | undefined>;
  /** Counts an attempt. Of any number of concurrent ones, `most` wrong ones count, and one right one is `right`. */
  attempt(key: string, attempt: CountedAttempt): Promise<AttemptOutcome>;
}

export interface ChallengeBindings extends StorageBindings {
  readonly CHALLENGE_STORE: DurableObjectNamespace<ChallengeStoreRpc>;
}

/** A stored value is found only under its own kind, so that an id of one kind cannot be used as another. */
export type ChallengeKind =
  | "authorization-code"
  | "authorization-request"
  | "flow"
  | "logout-request"
  | "mailed-code"
  | "passkey-ceremony"
  | "upstream-sign-in"
  | "upstream-link";

/** Keys per call: one commit in the object, some tens of microseconds each. */
const spendsAtOnce = 64;

interface WaitingSpend {
  readonly address: ShardAddress;
  readonly region: RegionShards;
  readonly spend: Spend;
}

/**
 * **Single-use values**: keys that the caller presents (the `jti` of an assertion or of a DPoP proof), and opaque ids of this provider that contain
 * their shard. Cost: 1 object call; `spendOnce` and `spendProof` one per live generation, so two for a while after a generation is opened, and
 * concurrent ones of a shard share a call and a durable commit.
 *
 * A presented key must reach the same shard from every isolate, so it is spent in every live generation: two isolates with different generation
 * tables still share a generation, because openings and retirements are hours apart. The generations are called in order, oldest first, and the
 * first refusal ends the sequence, so exactly one of many requests succeeds.
 */
export class Challenges {
  readonly #shardMap: ShardMap;
  readonly #spends = new SharedCall<ChallengeBindings, WaitingSpend, SpendResult>({
    name: "challenge store",
    maxBatch: spendsAtOnce,
    send: sendSpends,
  });

  constructor(shardMap: ShardMap) {
    this.#shardMap = shardMap;
  }

  /** True exactly once per key until `untilMs`. A failed call may have spent the key; another request with it is then refused. */
  async spendOnce(context: RequestContext<ChallengeBindings>, key: string, untilMs: number): Promise<boolean> {
    const table = await this.#shardMap.table(context);
    const spend: Spend = { key: `s:${key}`, untilMs, operationId: operationId(context) };
    for (const address of table.homes("challenge", key)) {
      const region = table.find("challenge", address)!;
      if ((await this.#spends.call(context, objectName("challenge", address), { address, region, spend })) !== true)
        return false;
    }
    return true;
  }

  /**
   * `first` exactly once per proof until its `untilMs` (protocols.md §6). A proof without the nonce of a store is spent like a key; one with it, in
   * that store alone. Cost: 1 object call, and no row written.
   */
  async spendProof(
    context: RequestContext<ChallengeBindings>,
    { key, notBeforeMs, untilMs, place }: ProofUse,
  ): Promise<SpentProof> {
    const table = await this.#shardMap.table(context);
    const proof: PresentedProof = { notBeforeMs, boot: place?.boot };
    const spend: Spend = { key: `s:${key}`, untilMs, operationId: operationId(context), proof };
    for (const address of place === undefined ? table.homes("challenge", key) : [place.address]) {
      const region = table.find("challenge", address);
      // The generation has been retired since: the next nonce names no store.
      if (region === undefined) return { kind: "newer", place: undefined };
      const result = await this.#spends.call(context, objectName("challenge", address), { address, region, spend });
      if (typeof result === "string") return { kind: "newer", place: { address, boot: result } };
      if (!result) return { kind: "used" };
    }
    return { kind: "first" };
  }

  /** Stores a value and returns the id by which it can be taken. */
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

  /** Reads the value without taking it; `undefined` for an id that is unknown, of another kind, spent, expired or malformed. */
  peek(context: RequestContext<ChallengeBindings>, kind: ChallengeKind, id: string): Promise<string | undefined> {
    return this.#call(context, kind, id, (stub, key) => stub.peek(key));
  }

  /** Takes the value; exactly one caller gets it. */
  take(context: RequestContext<ChallengeBindings>, kind: ChallengeKind, id: string): Promise<string | undefined> {
    return this.#call(context, kind, id, (stub, key) => stub.take(key));
  }

  /**
   * The id of something that is attempted, in the shard where its attempts are counted. Nothing is stored before the first one. `name` is random, or
   * a hash of what is random. Cost: 0.
   */
  async idOf(context: RequestContext<ChallengeBindings>, name: string): Promise<string> {
    return formatOpaqueId("ch", await this.#shardMap.place(context, "challenge", name), name);
  }

  /** Counts an attempt, see `ChallengeStoreRpc.attempt`; `over` for an id outside the generation table. */
  async attempt(
    context: RequestContext<ChallengeBindings>,
    kind: ChallengeKind,
    id: string,
    attempt: CountedAttempt,
  ): Promise<AttemptOutcome> {
    return (
      (await this.#call<AttemptOutcome>(context, kind, id, async (stub, key) => stub.attempt(key, attempt))) ?? "over"
    );
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
    const stub = shardStub(context.settings, context.env.CHALLENGE_STORE, "challenge", parsed.address, region);
    return callObject("challenge store", () => call(stub, `v:${kind}:${parsed.random}`));
  }
}

async function sendSpends(
  { settings, env }: RequestContext<ChallengeBindings>,
  waiting: readonly WaitingSpend[],
): Promise<readonly SpendResult[]> {
  const { address, region } = waiting[0]!;
  const stub = shardStub(settings, env.CHALLENGE_STORE, "challenge", address, region);
  const spends = waiting.map(({ spend }) => spend);
  return withoutTimeLimit<readonly SpendResult[]>("challenge store", async () => stub.spendEach(spends));
}
