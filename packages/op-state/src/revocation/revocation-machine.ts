import { type LeaseTiming, outlast } from "@edge-op/shared/objects/lease-timing";
import {
  type CheckReply,
  type CutOff,
  type LeaseReply,
  markedClient,
  markKey,
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
}

/** What a change writes, before it takes effect. */
export interface Plan {
  /** Clients whose rows are not replicated, after it. */
  readonly marked: ReadonlySet<string>;
  readonly entries: readonly Entry[];
  readonly seq: number;
  readonly cv: number;
}

/**
 * **The revocation shard's state machine** (protocols.md §2): what a lease, a check and a revocation answer, what must be
 * durable first, and how long an acknowledgement waits. No I/O and no clock: callers plan, write, then apply.
 *
 * I2 a lease ends before `#leaseEndMs` (+ its length as any clock may measure it). I3 nothing is answered beyond
 * `#answersUntilMs`, C after an own durable horizon; that of a predecessor is in another clock's time and grants nothing.
 * A client with more rows than `maxPerClient` is marked: its rows stay in storage, and isolates check its tokens exactly.
 * I4 acknowledgements wait for the boot fence: until a superseded predecessor answers no more and its leases have ended.
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
  #answersUntilMs = Number.NEGATIVE_INFINITY;
  #leaseEndMs = Number.NEGATIVE_INFINITY;

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
    if (nowMs <= this.#answersUntilMs && granted <= this.#leaseMs) return undefined;
    // Longer leases of before count until none of them can be left.
    const lowered = granted > 0 && nowMs >= this.releaseAtMs ? granted : Math.max(granted, this.#leaseMs);
    return {
      horizonMs: Math.ceil(nowMs + outlast(this.#timing, lowered) + this.#timing.horizonStepMs),
      leaseMs: lowered,
    };
  }

  /** After the horizon is written. */
  extend(horizon: Horizon, nowMs: number): void {
    this.#leaseMs = horizon.leaseMs;
    this.#answersUntilMs = nowMs + this.#timing.horizonStepMs;
  }

  /** `actsOnMarks`: false for a caller of an earlier version, which would take a marked client's tokens for unrevoked. */
  lease(sinceSeq: number, leaseMs: number, nowMs: number, actsOnMarks = true): LeaseReply {
    const granted = this.#granted(leaseMs);
    this.#assertHorizon(granted, nowMs);
    if (this.#entries === undefined || (this.#marked.size > 0 && !actsOnMarks))
      return { kind: "checkOnly", cv: this.#cv };
    const leaseEndMs = nowMs + outlast(this.#timing, granted) + this.#timing.marginMs;
    this.#leaseEndMs = Math.max(this.#leaseEndMs, leaseEndMs);
    // A replica that knows more than there is has outlived this storage.
    const snapshot = sinceSeq < 0 || sinceSeq > this.#seq;
    const { rows, cutOffs } = this.#since(snapshot ? -1 : sinceSeq);
    return { kind: "lease", snapshot, seq: this.#seq, rows, cutOffs, leaseMs: granted, cv: this.#cv };
  }

  /** Exact. `find` reads storage, for entries that are not held here. */
  check(
    rowKeys: readonly string[],
    cutOffKeys: readonly string[],
    nowMs: number,
    find: (key: string) => Entry | undefined,
  ): CheckReply {
    this.#assertHorizon(0, nowMs);
    const isComplete = this.#entries !== undefined && this.#marked.size === 0;
    const entryOf = (key: string) => this.#entries?.get(key) ?? (isComplete ? undefined : find(key));
    const cutOffs = cutOffKeys.map(entryOf).filter(isCutOff);
    return { revoked: rowKeys.filter((key) => entryOf(key) !== undefined), cutOffs: cutOffs.map(cutOff), cv: this.#cv };
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
    return {
      entries: [...entries.values()].sort((a, b) => a.seq - b.seq),
      // While entries are not held here no mark is kept up to date: rows that come in stay with those to be replicated.
      marked: this.#entries === undefined ? new Set() : new Set([...this.#marked, ...marks.keys()]),
      seq,
      cv: Math.max(this.#cv, change.cv),
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
   * When no lease is left that lacks what is in force now: also for a revocation that was repeated after a lost reply,
   * whose row those leases may lack. Leases granted after it have it, so waiting once is enough (I1).
   */
  get releaseAtMs(): number {
    return Math.max(this.#leaseEndMs, this.#bootFenceMs);
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

  #granted(leaseMs: number): number {
    return Number.isFinite(leaseMs) ? Math.min(Math.max(0, leaseMs), this.#timing.maxLeaseMs) : 0;
  }

  #assertHorizon(leaseMs: number, nowMs: number): void {
    if (nowMs > this.#answersUntilMs || leaseMs > this.#leaseMs) throw new Error("answers beyond the durable horizon");
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

/**
 * A predecessor may still answer, until C after its last durable horizon, which was written before this instance read it;
 * then its last lease runs. By H + 60 s on any clock all of that is over, so an object that slept for long waits for nothing.
 */
function bootFence(timing: LeaseTiming, horizon: Horizon | undefined, bootAtMs: number): number {
  if (horizon === undefined) return Number.NEGATIVE_INFINITY;
  const lifeMs = outlast(timing, timing.horizonStepMs + horizon.leaseMs) + timing.marginMs;
  return Math.min(bootAtMs + lifeMs, horizon.horizonMs + timing.clockOffsetMs);
}

function isCutOff(entry: Entry | undefined): entry is Entry & { readonly notBeforeMs: number } {
  return entry?.notBeforeMs !== undefined;
}

function cutOff({ key, notBeforeMs, untilMs }: Entry & { readonly notBeforeMs: number }): CutOff {
  return { key, notBeforeMs, untilMs };
}
