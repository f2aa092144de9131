import { LeaseHolders, type PendingChange } from "@edge-op/shared/leases/lease-holders";
import { type LeaseTiming, outlast } from "@edge-op/shared/objects/lease-timing";
import {
  type CheckResponse,
  type CutOff,
  type LeaseRequest,
  type LeaseResponse,
  markedClient,
  markKey,
  type NamedChange,
  type RevokedRow,
} from "@edge-op/shared/objects/token-revocation-store";

/** A row or a cut-off; the latter have a not-before. `seq` is the change that made it what it is. */
export interface Entry {
  readonly key: string;
  readonly notBeforeMs: number | undefined;
  readonly untilMs: number;
  readonly seq: number;
  /** The client whose token or grant the row is about, if it is known. */
  readonly clientId?: string | undefined;
}

/** The death of a mark is rounded up to this. */
const markStepMs = 3_600_000;

/** What of the promises of an instance is durable: it answers nothing beyond, and its successor outlasts it. */
export interface Horizon {
  /** When the last lease granted under it has ended (H). */
  readonly horizonMs: number;
  /** The longest lease granted under it. */
  readonly leaseMs: number;
}

export interface DurableState {
  /** Those that are replicated, marks included. `undefined`: more than a replica may hold. They stay in storage, and there are no leases until they are fewer. */
  readonly entries: readonly Entry[] | undefined;
  readonly seq: number;
  readonly cv: number;
  readonly horizon: Horizon | undefined;
}

export interface Change {
  readonly rows: readonly (RevokedRow & { readonly clientId?: string })[];
  readonly cutOffs: readonly CutOff[];
  readonly cv: number;
  /** The newest administrative changes, the last of them `cv`; a shard that knows them spares isolates a read of D1. */
  readonly changes?: readonly NamedChange[];
}

/** What a change writes, before it takes effect. */
export interface Plan {
  /** Clients whose rows are not replicated, after it. */
  readonly marked: ReadonlySet<string>;
  readonly entries: readonly Entry[];
  readonly seq: number;
  readonly cv: number;
  readonly changes: readonly NamedChange[];
}

/** How long an acknowledgement waits. */
export interface AcknowledgementWait {
  /** Ends early when its last holder confirms. */
  readonly pending: PendingChange;
  /** Durations on the shard's clock: until the leases of those holders have ended, and until the boot fence has passed. */
  readonly leasesMs: number;
  readonly fenceMs: number;
}

/** The administrative changes that a shard remembers; an isolate that lags further reads D1. */
const rememberedChanges = 500;

/**
 * **The revocation shard's state machine** (protocols.md §2): what a lease, a check and a revocation answer, what must be
 * durable first, and how long an acknowledgement waits. No I/O and no clock: callers plan, write, then apply.
 *
 * I2 a lease ends, at its holder, before it ends in {@link LeaseHolders}. I3 nothing is answered beyond `#servesUntilMs`, C after
 * an own durable horizon; that of a predecessor is in another clock's time and grants nothing. I4 acknowledgements wait for the
 * boot fence: until a superseded predecessor answers no more and its leases have ended. No confirmation shortens the fence.
 * A client with more rows than `maxPerClient` is marked: its rows stay in storage, and isolates check its tokens exactly.
 */
export class RevocationMachine {
  readonly #timing: LeaseTiming;
  readonly #maxEntries: number;
  readonly #maxPerClient: number;
  readonly #bootFenceMs: number;
  /** Without the rows of marked clients. */
  #entries: Map<string, Entry> | undefined;
  #marked: ReadonlySet<string> = new Set();
  /** Rows in `#entries` of each client. */
  #rowsOfClient = new Map<string, number>();
  /** Ascending by seq; an entry that was changed since is skipped. */
  #log: Entry[] = [];
  #seq: number;
  #cv: number;
  #leaseMs: number;
  #servesUntilMs = Number.NEGATIVE_INFINITY;
  readonly #holders = new LeaseHolders();
  #pruneAboveHolders = 64;
  /** Consecutive versions, ascending; the last one is `#cv`. Empty when they are not known. */
  #changes: readonly NamedChange[] = [];

  /** `bootAtMs` is read after storage was: from then on no write of a predecessor becomes durable. */
  constructor(
    timing: LeaseTiming,
    maxEntries: number,
    durable: DurableState,
    bootAtMs: number,
    maxPerClient = maxEntries,
  ) {
    this.#timing = timing;
    this.#maxEntries = maxEntries;
    this.#maxPerClient = maxPerClient;
    this.#seq = durable.seq;
    this.#cv = durable.cv;
    this.#leaseMs = durable.horizon?.leaseMs ?? 0;
    this.#bootFenceMs = bootFence(timing, durable.horizon, bootAtMs);
    if (durable.entries !== undefined) this.hold(durable.entries);
  }

  get seq(): number {
    return this.#seq;
  }

  get cv(): number {
    return this.#cv;
  }

  /** Whether entries are held here; if not, the caller finds them in storage. */
  get isResident(): boolean {
    return this.#entries !== undefined;
  }

  /** Takes entries into memory: at boot, or when there are few enough again. */
  hold(entries: readonly Entry[]): void {
    if (entries.length > this.#maxEntries) return;
    this.#log = [...entries].sort((a, b) => a.seq - b.seq);
    this.#entries = new Map(this.#log.map((entry) => [entry.key, entry]));
    this.#marked = new Set(this.#log.flatMap(({ key }) => markedClient(key) ?? []));
    this.#rowsOfClient = new Map();
    for (const { clientId } of this.#log) this.#count(clientId, 1);
  }

  /** What must be written before a lease of `leaseMs` (0: a check) is answered; `undefined` most of the time. */
  horizonDue(leaseMs: number, nowMs: number): Horizon | undefined {
    const granted = this.#granted(leaseMs);
    if (nowMs <= this.#servesUntilMs && granted <= this.#leaseMs) return undefined;
    // Longer leases of before count until none of them can be left.
    const lowered = nowMs >= this.releaseAtMs ? granted : Math.max(granted, this.#leaseMs);
    return {
      horizonMs: Math.ceil(nowMs + outlast(this.#timing, lowered) + horizonStepMs(this.#timing, lowered)),
      leaseMs: lowered,
    };
  }

  /** After the horizon is written. */
  extend(horizon: Horizon, nowMs: number): void {
    this.#leaseMs = horizon.leaseMs;
    this.#servesUntilMs = nowMs + horizonStepMs(this.#timing, horizon.leaseMs);
  }

  /**
   * Until when a renewal is held: it brings no news, and its holder has a lease of which half is left to go on with. Not after
   * `nowMs`: it is answered at once.
   */
  holdUntilMs({ holder, sinceSeq, leaseMs, hold }: LeaseRequest, nowMs: number): number {
    if (!hold || !this.isResident || sinceSeq !== this.#seq) return nowMs;
    const halfMs = this.#granted(leaseMs) / 2;
    return Math.min(nowMs + halfMs, this.#holders.leaseEndMs(holder) - halfMs);
  }

  /** Takes note of what a holder confirms. Returns the changes that are in force by that. */
  confirm({ holder, confirmedSeq }: LeaseRequest): readonly PendingChange[] {
    // A number that was never given comes from a storage that is gone.
    return confirmedSeq > this.#seq ? [] : this.#holders.confirm(holder, confirmedSeq);
  }

  /** A holder gives its lease up. Returns the changes that are in force by that. */
  release(holder: string): readonly PendingChange[] {
    return this.#holders.release(holder);
  }

  /** `heldMs`: how long the request was held before this answer. */
  lease({ holder, sinceSeq, sinceCv, leaseMs }: LeaseRequest, heldMs: number, nowMs: number): LeaseResponse {
    const granted = this.#granted(leaseMs);
    this.#assertHorizon(granted, nowMs);
    const changes = this.#changesSince(sinceCv);
    if (this.#entries === undefined) return { kind: "checkOnly", cv: this.#cv, changes };
    const endMs = nowMs + outlast(this.#timing, granted) + this.#timing.marginMs;
    this.#holders.grant(holder, this.#seq, endMs);
    this.#pruneHolders(nowMs);
    // A replica that knows more than there is has outlived this storage.
    const snapshot = sinceSeq < 0 || sinceSeq > this.#seq;
    const { rows, cutOffs } = this.#since(snapshot ? -1 : sinceSeq);
    return { kind: "lease", snapshot, seq: this.#seq, rows, cutOffs, leaseMs: granted, heldMs, cv: this.#cv, changes };
  }

  /** Exact. `find` reads storage, for entries that are not held here. */
  check(
    rowKeys: readonly string[],
    cutOffKeys: readonly string[],
    sinceCv: number,
    nowMs: number,
    find: (key: string) => Entry | undefined,
  ): CheckResponse {
    this.#assertHorizon(0, nowMs);
    const isComplete = this.#entries !== undefined && this.#marked.size === 0;
    const entryOf = (key: string) => this.#entries?.get(key) ?? (isComplete ? undefined : find(key));
    const cutOffs = cutOffKeys.map(entryOf).filter(isCutOff);
    const revoked = rowKeys.filter((key) => entryOf(key) !== undefined);
    return { revoked, cutOffs: cutOffs.map(cutOff), cv: this.#cv, changes: this.#changesSince(sinceCv) };
  }

  /** What `change` adds to what is held: nothing when it repeats what is known. Values combine by max. */
  plan(change: Change): Plan {
    const entries = new Map<string, Entry>();
    let seq = this.#seq;
    const add = (key: string, notBeforeMs: number | undefined, untilMs: number, clientId?: string) => {
      const known = entries.get(key) ?? this.#entries?.get(key);
      const next = {
        key,
        notBeforeMs: notBeforeMs === undefined ? undefined : Math.max(notBeforeMs, known?.notBeforeMs ?? notBeforeMs),
        untilMs: Math.max(untilMs, known?.untilMs ?? untilMs),
        clientId: clientId ?? known?.clientId,
      };
      if (known !== undefined && known.notBeforeMs === next.notBeforeMs && known.untilMs === next.untilMs) return;
      seq += 1;
      entries.set(key, { ...next, seq });
    };
    for (const { key, untilMs, clientId } of change.rows) add(key, undefined, untilMs, clientId);
    for (const { key, notBeforeMs, untilMs } of change.cutOffs) add(key, notBeforeMs, untilMs);
    const marks = this.#marksDue([...entries.values()]);
    for (const [clientId, untilMs] of marks) add(markKey(clientId), undefined, untilMs);
    // A change that no entry stands for is news too: holders confirm that they have acted on it.
    if (change.cv > this.#cv && seq === this.#seq) seq += 1;
    const cv = Math.max(this.#cv, change.cv);
    return {
      entries: [...entries.values()].sort((a, b) => a.seq - b.seq),
      // While entries are not held here no mark is kept up to date: rows that come in stay with those to be replicated.
      marked: this.#entries === undefined ? new Set() : new Set([...this.#marked, ...marks.keys()]),
      seq,
      cv,
      changes: change.cv > this.#cv ? continuousChanges(this.#changes, change.changes ?? [], cv) : this.#changes,
    };
  }

  /** The clients of `added` that have too many rows, and until when one of their rows lives. */
  #marksDue(added: readonly Entry[]): ReadonlyMap<string, number> {
    const marks = new Map<string, number>();
    if (this.#entries === undefined) return marks;
    for (const [clientId, rows] of Map.groupBy(added, (entry) => entry.clientId)) {
      if (clientId === undefined) continue;
      const fresh = rows.filter(({ key }) => !this.#entries!.has(key)).length;
      const count = (this.#rowsOfClient.get(clientId) ?? 0) + fresh;
      if (count <= this.#maxPerClient && !this.#marked.has(clientId)) continue;
      const held = this.#marked.has(clientId)
        ? []
        : [...this.#entries.values()].filter((row) => row.clientId === clientId);
      const untilMs = [...held, ...rows].reduce((latest, row) => Math.max(latest, row.untilMs), 0);
      // In whole hours: most rows that follow change nothing about the mark, so replicas are sent nothing.
      marks.set(clientId, Math.ceil(untilMs / markStepMs) * markStepMs);
    }
    return marks;
  }

  /** After the plan is written: every lease granted from now on has it. */
  apply(plan: Plan): void {
    this.#seq = plan.seq;
    this.#cv = plan.cv;
    this.#changes = plan.changes;
    if (this.#entries === undefined) return;
    if (plan.marked.size > this.#marked.size) this.#letGo(plan.marked);
    this.#marked = plan.marked;
    for (const entry of plan.entries) {
      if (entry.clientId !== undefined && plan.marked.has(entry.clientId)) continue;
      if (!this.#entries.has(entry.key)) this.#count(entry.clientId, 1);
      this.#entries.set(entry.key, entry);
      this.#log.push(entry);
    }
    if (this.#entries.size > this.#maxEntries) {
      this.#entries = undefined;
      this.#log = [];
    } else if (this.#log.length > 2 * this.#entries.size + 64) {
      this.#compact();
    }
  }

  /**
   * What an acknowledgement of everything up to now waits for: also that of a revocation which was repeated after a lost
   * reply, whose row a holder may still lack. Leases granted after it have it, so waiting once is enough (I1).
   */
  startWait(nowMs: number): AcknowledgementWait {
    const pending = this.#holders.await(this.#seq, nowMs);
    return {
      pending,
      leasesMs: Math.max(0, Math.ceil(pending.untilMs - nowMs)),
      fenceMs: Math.max(0, Math.ceil(this.#bootFenceMs - nowMs)),
    };
  }

  endWait({ pending }: AcknowledgementWait): void {
    this.#holders.abandon(pending);
  }

  /** When no lease is left, granted here or by a predecessor. */
  get releaseAtMs(): number {
    return Math.max(this.#holders.lastEndMs, this.#bootFenceMs);
  }

  /**
   * Whether no lease is left that was granted here, or by a predecessor. Then the horizon may be taken back, durably: this
   * instance answers nothing before it has written another one, and its successor waits for nobody.
   */
  mayClose(nowMs: number): boolean {
    return this.#servesUntilMs > Number.NEGATIVE_INFINITY && nowMs > this.releaseAtMs;
  }

  /** After the horizon was taken back. */
  close(): void {
    this.#servesUntilMs = Number.NEGATIVE_INFINITY;
    this.#leaseMs = 0;
  }

  /** Swept in storage. Replicas let go of them by themselves. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.#entries?.get(key);
      if (entry === undefined) continue;
      this.#entries?.delete(key);
      this.#count(entry.clientId, -1);
    }
    const marked = new Set(this.#marked);
    for (const key of keys) marked.delete(markedClient(key) ?? "");
    this.#marked = marked;
    this.#compact();
  }

  #letGo(marked: ReadonlySet<string>): void {
    for (const [key, { clientId }] of this.#entries ?? []) {
      if (clientId !== undefined && marked.has(clientId)) this.#entries?.delete(key);
    }
    for (const clientId of marked) this.#rowsOfClient.delete(clientId);
  }

  #count(clientId: string | undefined, change: 1 | -1): void {
    if (clientId === undefined) return;
    const count = (this.#rowsOfClient.get(clientId) ?? 0) + change;
    if (count > 0) this.#rowsOfClient.set(clientId, count);
    else this.#rowsOfClient.delete(clientId);
  }

  get holders(): number {
    return this.#holders.size;
  }

  #pruneHolders(nowMs: number): void {
    if (this.#holders.size <= this.#pruneAboveHolders) return;
    this.#holders.prune(nowMs);
    this.#pruneAboveHolders = 2 * this.#holders.size + 64;
  }

  #changesSince(cv: number): readonly NamedChange[] | undefined {
    if (cv >= this.#cv) return [];
    const first = this.#changes[0];
    if (first === undefined || cv < 0 || first.version > cv + 1) return undefined;
    return this.#changes.slice(cv + 1 - first.version);
  }

  #granted(leaseMs: number): number {
    return Number.isFinite(leaseMs) ? Math.min(Math.max(0, leaseMs), this.#timing.maxLeaseMs) : 0;
  }

  #assertHorizon(leaseMs: number, nowMs: number): void {
    if (nowMs > this.#servesUntilMs || leaseMs > this.#leaseMs) throw new Error("answers beyond the durable horizon");
  }

  #since(seq: number): { rows: RevokedRow[]; cutOffs: CutOff[] } {
    const rows: RevokedRow[] = [];
    const cutOffs: CutOff[] = [];
    for (let index = this.#firstAfter(seq); index < this.#log.length; index += 1) {
      const entry = this.#log[index]!;
      if (this.#entries?.get(entry.key) !== entry) continue;
      if (isCutOff(entry)) cutOffs.push(cutOff(entry));
      else rows.push({ key: entry.key, untilMs: entry.untilMs });
    }
    return { rows, cutOffs };
  }

  #firstAfter(seq: number): number {
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#log[middle]!.seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #compact(): void {
    this.#log = this.#log.filter((entry) => this.#entries?.get(entry.key) === entry);
  }
}

function horizonStepMs(timing: LeaseTiming, leaseMs: number): number {
  return leaseMs > 0 ? timing.horizonStepMs : timing.checkStepMs;
}

/**
 * A predecessor may still answer, until C after its last durable horizon, which was written before this instance read it;
 * then its last lease runs. By H + 60 s on any clock all of that is over, so an object that slept for long waits for nothing.
 */
function bootFence(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number): number {
  if (horizon === undefined) return Number.NEGATIVE_INFINITY;
  const lifeMs = outlast(timing, horizonStepMs(timing, horizon.leaseMs) + horizon.leaseMs) + timing.marginMs;
  return Math.min(bootAtMs + lifeMs, horizon.horizonMs + timing.clockOffsetMs);
}

/** The longest run of consecutive versions that ends with `cv`. A number that is missing is a gap (ADR 11): nothing before it counts. */
function continuousChanges(known: readonly NamedChange[], added: readonly NamedChange[], cv: number): NamedChange[] {
  const byVersion = new Map([...known, ...added].map((change) => [change.version, change]));
  const run: NamedChange[] = [];
  for (let version = cv; run.length < rememberedChanges; version -= 1) {
    const change = byVersion.get(version);
    if (change === undefined) break;
    run.push(change);
  }
  return run.reverse();
}

function isCutOff(entry: Entry | undefined): entry is Entry & { readonly notBeforeMs: number } {
  return entry?.notBeforeMs !== undefined;
}

function cutOff({ key, notBeforeMs, untilMs }: Entry & { readonly notBeforeMs: number }): CutOff {
  return { key, notBeforeMs, untilMs };
}
