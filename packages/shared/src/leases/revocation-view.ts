import { fnv1a } from "@edge-op/protocol/encoding/bytes";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { limits } from "../config/limits.ts";
import type { ControlView } from "../control/control-view.ts";
import type { ReadCondition } from "../control/read-set.ts";
import type { RevokeRequest } from "../grants/grant-revocation.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { firstResult, within } from "../runtime/deadline.ts";
import { withoutTimeLimit } from "../storage/call-object.ts";
import type { GenerationTable } from "../storage/generation-table.ts";
import type { StorageBindings } from "../storage/read-through.ts";
import type { ShardAddress } from "../storage/shard-address.ts";
import type { ShardMap } from "../storage/shard-map.ts";
import { SharedCall } from "../storage/shared-call.ts";
import { confirmRevocation } from "./confirm-revocation.ts";
import { type CheckResponse, noVersion } from "./revocation-shard-rpc.ts";
import { cutOffKeys, isCutOff, type RevocationSubject, rowKeys } from "./revocation-subject.ts";
import { type LeasedShard, type RevocationBindings, ShardLeases, shardStubOf } from "./shard-leases.ts";

export type { RevocationBindings };

type Context = RequestContext<RevocationBindings>;

/** Without a row, a token may have been revoked, if it has expired since its request arrived and the row was deleted (`rowUntilMs`). */
function assertRowsKept({ arrivedAtMs }: Context): void {
  const elapsedMs = nowMs() - arrivedAtMs;
  if (elapsedMs > limits.decisionMs)
    throw new UnavailableError("revocation", new Error(`not decided within ${elapsedMs} ms`));
}

interface CheckRequest {
  readonly shard: LeasedShard;
  readonly subjects: readonly RevocationSubject[];
}

/**
 * **Decides whether tokens are revoked** (docs/reference/protocols.md §2): by a lease that was valid when the request arrived,
 * otherwise by a call of the grant's shard. Without either it throws {@link UnavailableError}; it never guesses. Concurrent calls
 * of a shard are shared. {@link ShardLeases} keeps the leases.
 *
 * Cost: `direct` one object call per shard; `strict` and `bounded` none while traffic keeps a lease. The control version of a
 * response is applied before the response is used, and a lease is used only after that.
 */
export class RevocationView {
  readonly #control: ControlView;
  readonly #leases: ShardLeases;
  readonly #shardMap: ShardMap;
  /** The shards from which this isolate reads the control version alone; isolates spread over the shards. */
  readonly #confirmingShards: ConfirmingShards;

  readonly #checks = new SharedCall<RevocationBindings, CheckRequest, CheckResponse>({
    name: "revocation",
    maxBatch: 200,
    send: async (context, requests) => [await this.#check(context, requests)],
  });

  constructor(control: ControlView, shardMap: ShardMap) {
    this.#control = control;
    this.#leases = new ShardLeases(control, shardMap);
    this.#shardMap = shardMap;
    this.#confirmingShards = new ConfirmingShards(shardMap);
  }

  /** Throws {@link UnavailableError} if neither a lease nor the shard is available. */
  async isRevoked(context: Context, subjects: readonly RevocationSubject[]): Promise<boolean> {
    let pending: Map<LeasedShard, RevocationSubject[]> | undefined;
    for (const subject of subjects) {
      const shard = this.#leases.known(subject.address) ?? (await this.#leases.locate(context, subject.address));
      // Every token of a retired generation has expired, and no object may be addressed (G1).
      if (shard === undefined) return true;
      if (this.#leases.covers(shard, context.arrivedAtMs)) {
        this.#leases.use(context, shard);
        context.progress.controlConfirmed = true;
        if (shard.replica.isRevoked(subject)) return true;
        if (!shard.replica.needsCheck(subject)) continue;
      }
      pending ??= new Map();
      pending.set(shard, [...(pending.get(shard) ?? []), subject]);
    }
    if (pending !== undefined) {
      const verdicts = await Promise.all([...pending].map(([shard, those]) => this.#consult(context, shard, those)));
      if (verdicts.includes(true)) return true;
    }
    assertRowsKept(context);
    return false;
  }

  /** Whether {@link isRevoked} and {@link confirmControl} would cost no call. */
  isCovered(context: Context, subject: RevocationSubject): boolean {
    const shard = this.#leases.known(subject.address);
    if (shard === undefined || !this.#leases.covers(shard, context.arrivedAtMs)) return false;
    return !shard.replica.needsCheck(subject) && this.isControlConfirmed(context);
  }

  /** The shard that this isolate calls for the control version: every shard has all cut-offs of the last day. */
  async cutOffShard(context: Context): Promise<ShardAddress> {
    return (await this.#confirmingShards.inTurn(context))[0];
  }

  /**
   * Resolves when the revocation is durable and, unless the mode is `bounded`, in force everywhere. Of a retired generation, every token has expired:
   * only the events are recorded, where the next tokens of the grant would be revoked. With a condition, false if nothing was revoked, because the
   * shard does not vouch for the condition.
   */
  async revoke(
    context: Context,
    address: ShardAddress,
    requests: readonly RevokeRequest[],
    condition?: ReadCondition,
  ): Promise<boolean> {
    if (await this.#revoke(context, address, requests, condition)) return true;
    if (condition !== undefined) return false;
    const [first, ...others] = requests.filter(({ event }) => event !== undefined);
    if (first === undefined) return true;
    const newest = await this.#shardMap.placeAgain(context, "revocation", address, first.key);
    return this.#revoke(context, newest, [first, ...others]);
  }

  async #revoke(
    context: Context,
    address: ShardAddress,
    requests: readonly RevokeRequest[],
    condition?: ReadCondition,
  ): Promise<boolean> {
    const shard = this.#leases.known(address) ?? (await this.#leases.locate(context, address));
    if (shard === undefined) return false;
    const sinceCv = this.#control.version ?? noVersion;
    const { cv, changes, isOutdated } = await confirmRevocation(
      context.settings,
      () => shardStubOf(context, shard),
      requests,
      sinceCv,
      condition,
    );
    if (cv !== undefined) {
      await this.#control.observe(context, cv, changes);
      context.progress.controlConfirmed = true;
    }
    return isOutdated !== true;
  }

  /**
   * Whether `control.version` is as fresh as the request's arrival: a lease was valid then, and is kept, or a shard has responded since. Cost: none.
   */
  isControlConfirmed(context: Context): boolean {
    const { progress } = context;
    if (this.#leases.confirmsControl(context)) progress.controlConfirmed = true;
    return progress.controlConfirmed;
  }

  /**
   * Confirms the control version. Every shard that responds vouches for it, so if one fails or is slow the next is called: at most `confirmingShards`
   * shards, `objectCallMs` in total. Cost: 0 or 1 object call while the isolate's shard responds.
   */
  async confirmControl(context: Context): Promise<void> {
    if (this.isControlConfirmed(context)) return;
    const addresses = await this.#confirmingShards.inTurn(context);
    const pending = firstResult(
      addresses.map((address, turn) => async () => {
        const shard = this.#leases.known(address) ?? (await this.#leases.locate(context, address));
        if (shard === undefined) throw new UnavailableError("generation table", new Error("no shard to call"));
        await this.#consult(context, shard, []);
        if (turn > 0) this.#confirmingShards.prefer(address);
      }),
      limits.controlShardMs,
    );
    await within(limits.objectCallMs, pending, () => {
      throw new UnavailableError("revocation", new Error(`no shard responded within ${limits.objectCallMs} ms`));
    });
  }

  /** Calls a shard whose lease does not cover the request: for a lease if there is traffic, otherwise for an exact check. */
  async #consult(context: Context, shard: LeasedShard, subjects: readonly RevocationSubject[]): Promise<boolean> {
    if (context.settings.revocationMode !== "direct" && (await this.#leases.request(context, shard))) {
      context.progress.controlConfirmed = true;
      if (subjects.some((subject) => shard.replica.isRevoked(subject))) return true;
      if (!subjects.some((subject) => shard.replica.needsCheck(subject))) return false;
    }
    const remember = shard.replica.rememberCheck();
    const response = await this.#checks.call(context, shard.name, { shard, subjects });
    context.progress.controlConfirmed = true;
    for (const subject of subjects) remember(subject, response);
    return subjects.some((subject) => isNamed(subject, response));
  }

  async #check(context: Context, requests: readonly CheckRequest[]): Promise<CheckResponse> {
    const { shard } = requests[0]!;
    const subjects = requests.flatMap((request) => request.subjects);
    const { rows, cutOffs } = keysToCheck(subjects);
    const sinceCv = this.#control.version ?? noVersion;
    const call = async () => await shardStubOf(context, shard).check(rows, cutOffs, sinceCv);
    const response = await withoutTimeLimit<CheckResponse>("revocation", call);
    await this.#control.observe(context, response.cv, response.changes);
    return response;
  }

  /** The estimated size of all replicas. */
  get heldBytes(): number {
    return this.#leases.heldBytes;
  }
}

/** The keys of an exact check, of the tokens of all requests that share it. */
function keysToCheck(subjects: readonly RevocationSubject[]) {
  return { rows: [...new Set(subjects.flatMap(rowKeys))], cutOffs: [...new Set(subjects.flatMap(cutOffKeys))] };
}

/** Evaluates an exact check, which may contain the tokens of other requests too. */
export function isNamed(subject: RevocationSubject, response: CheckResponse): boolean {
  if (response.revoked.length > 0 && rowKeys(subject).some((key) => response.revoked.includes(key))) return true;
  if (response.cutOffs.length === 0) return false;
  const keys = cutOffKeys(subject);
  return response.cutOffs.some((cutOff) => keys.includes(cutOff.key) && isCutOff(subject, cutOff));
}

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
