import { type CutOff, combineCutOffs } from "@edge-op/shared/cut-offs/cut-offs";
import type { RevokedRow } from "@edge-op/shared/grants/grant-revocation";
import type { LeaseRequest, RevocationFilter } from "@edge-op/shared/leases/revocation-shard-rpc";
import { randomHashKey } from "@edge-op/shared/leases/row-filter";
import { buildSmallRowFilter, FilterKeys } from "./build-row-filter.ts";

/** A row or a cut-off; only a cut-off has a `version`. `seq` is the sequence number of its last change. */
export interface Entry {
  readonly key: string;
  readonly untilMs: number;
  readonly version: number | undefined;
  readonly seq: number;
}

/** Rows and cut-offs to add. */
export interface Additions {
  readonly rows: readonly RevokedRow[];
  readonly cutOffs: readonly CutOff[];
}

export interface PlannedEntries {
  readonly entries: readonly Entry[];
  readonly seq: number;
}

/** How many rows are held and sent in which form. */
export interface SetLimits {
  /** The number of entries held in memory. If there are more, only those of the log are held, and the others are read from storage. */
  readonly maxEntries: number;
  /** Rows of a snapshot without a filter. */
  readonly exactRows: number;
}

export interface Contents {
  readonly snapshot: boolean;
  readonly filter: RevocationFilter | undefined;
  readonly rows: RevokedRow[];
  readonly cutOffs: CutOff[];
}

/** The approximate size of the contents in a response. */
export function estimatedBytes({ filter, rows, cutOffs }: Pick<Contents, "filter" | "rows" | "cutOffs">): number {
  return (filter?.bytes.length ?? 0) + 100 * rows.length + 250 * cutOffs.length;
}

/** A filter is replaced when this part of its rows was added since. */
const addedPart = 1 / 64;
/** It is also replaced when this part of its rows was deleted. */
const deletedPart = 1 / 2;
/** The log is at most this many times `maxEntries` long, while a filter is being built. */
const longestLog = 8;

/** **The exact entry of a key in storage.** */
export type FindEntry = (key: string) => Entry | undefined;

/**
 * **The revoked rows and cut-offs of a shard, as they are replicated.** Pure. Two values of one key combine by maximum. Memory contains every
 * cut-off, a log of the newest changes, and only a filter of the rows before the log. Up to `maxEntries` rows the log is complete. A snapshot is the
 * filter and the log after it (ADR 22); a delta is the log after the replica's last change.
 */
export class RevokedSet {
  readonly #limits: SetLimits;
  /** The newest entry of each key in the log. */
  #entries = new Map<string, Entry>();
  /** Ascending by seq; an entry that was changed since is skipped. */
  #log: Entry[] = [];
  /** The log contains every change after this one; −1: every entry. */
  #fromSeq = -1;
  /** `undefined`: more than `maxEntries`; then there are no leases. */
  #cutOffs: Map<string, Entry> | undefined = new Map();
  #filter: RevocationFilter | undefined;
  /** The number of rows of the filter, and of those deleted since. */
  #filterRows = 0;
  #deleted = 0;

  constructor(limits: SetLimits) {
    this.#limits = limits;
  }

  /** Whether every entry is in memory. */
  get isComplete(): boolean {
    return this.#fromSeq < 0 && this.#cutOffs !== undefined;
  }

  /** Takes all entries into memory: at boot, or when there are few enough again. */
  hold(entries: readonly Entry[]): void {
    this.#log = [...entries].sort((a, b) => a.seq - b.seq);
    this.#entries = new Map(this.#log.map((entry) => [entry.key, entry]));
    this.#cutOffs = new Map(this.#log.filter(isCutOff).map((entry) => [entry.key, entry]));
    this.#fromSeq = -1;
  }

  /** Begins with the cut-offs alone: the rows up to `seq` remain in storage until a filter of them is built. */
  holdCutOffs(cutOffs: readonly Entry[] | undefined, seq: number): void {
    this.#log = [];
    this.#entries = new Map();
    this.#cutOffs = cutOffs && new Map(cutOffs.map((entry) => [entry.key, entry]));
    this.#fromSeq = Math.max(seq, 0);
  }

  entryOf(key: string, find: FindEntry): Entry | undefined {
    return this.#entries.get(key) ?? this.#cutOffs?.get(key) ?? (this.isComplete ? undefined : find(key));
  }

  /** The additions that are new, numbered after `seq`: none if they repeat known entries. */
  plan({ rows, cutOffs }: Additions, seq: number, find: FindEntry): PlannedEntries {
    const entries = new Map<string, Entry>();
    let last = seq;
    const add = (added: Omit<Entry, "seq">) => {
      const known = entries.get(added.key) ?? this.entryOf(added.key, find);
      const next = known === undefined ? added : combine(known, added);
      if (known !== undefined && isSame(known, next)) return;
      last += 1;
      entries.set(next.key, { ...next, seq: last });
    };
    for (const { key, untilMs } of rows) add({ key, untilMs, version: undefined });
    for (const { key, untilMs, version } of cutOffs) add({ key, untilMs, version });
    return { entries: [...entries.values()].sort((a, b) => a.seq - b.seq), seq: last };
  }

  /** Called after the plan is written. */
  apply({ entries, seq }: PlannedEntries): void {
    for (const entry of entries) {
      this.#entries.set(entry.key, entry);
      this.#log.push(entry);
      if (isCutOff(entry)) this.#cutOffs?.set(entry.key, entry);
    }
    if (this.#log.length > 2 * this.#entries.size + 64) this.#compact();
    const { maxEntries } = this.#limits;
    if (this.#cutOffs !== undefined && this.#cutOffs.size > maxEntries) this.#cutOffs = undefined;
    if (this.#fromSeq < 0 && this.#entries.size > maxEntries) this.#beginFilters(seq);
    if (this.#log.length > longestLog * maxEntries) this.#dropLog(this.#log[this.#log.length >>> 1]!.seq);
  }

  /** `undefined`: no lease can be given now. */
  contentsFor(
    { sinceSeq, filterSeq }: Pick<LeaseRequest, "sinceSeq" | "filterSeq">,
    seq: number,
  ): Contents | undefined {
    if (this.#cutOffs === undefined) return undefined;
    // A larger number of a replica belongs to a storage that no longer exists.
    const isKnown = sinceSeq >= 0 && sinceSeq <= seq && sinceSeq >= this.#fromSeq;
    if (isKnown && !this.#replaces(filterSeq)) return this.deltaFor(sinceSeq);
    const filter = this.#currentFilter(seq);
    if (filter !== undefined) return this.#contents(true, filter, filter.seq, -1);
    if (isKnown) return this.deltaFor(sinceSeq);
    return this.isComplete ? this.#contents(true, undefined, -1, -1) : undefined;
  }

  /** The changes after `sinceSeq`, which the log contains. */
  deltaFor(sinceSeq: number): Contents {
    return this.#contents(false, undefined, sinceSeq, sinceSeq);
  }

  /** Whether the log reaches back to `sinceSeq`. */
  reachesBackTo(sinceSeq: number): boolean {
    return sinceSeq >= 0 && sinceSeq >= this.#fromSeq;
  }

  /** Whether a new filter is to be built from storage. */
  get isFilterDue(): boolean {
    if (this.#fromSeq < 0 || this.#cutOffs === undefined) return false;
    if (this.#filter === undefined || this.#filter.seq < this.#fromSeq) return true;
    const { maxEntries } = this.#limits;
    const added = this.#log.length - this.#firstAfter(this.#filter.seq);
    return added > Math.max(maxEntries, this.#filterRows * addedPart) || this.#deleted > this.#filterRows * deletedPart;
  }

  /** Installs a filter of the rows in storage, begun at `filter.seq`, and drops the log before the last filter. */
  useFilter(filter: RevocationFilter, rows: number): void {
    const before = this.#filter;
    this.#filter = filter;
    this.#filterRows = rows;
    this.#deleted = 0;
    if (this.#fromSeq >= 0 && before !== undefined) this.#dropLog(before.seq);
  }

  /** Removes entries that were swept in storage. Replicas delete them by themselves. */
  forget(keys: readonly string[]): void {
    for (const key of keys) {
      this.#entries.delete(key);
      this.#cutOffs?.delete(key);
    }
    this.#deleted += keys.length;
    if (keys.length > 0) this.#compact();
  }

  #contents(snapshot: boolean, filter: RevocationFilter | undefined, sinceSeq: number, cutOffsSince: number): Contents {
    const rows: RevokedRow[] = [];
    for (let index = this.#firstAfter(sinceSeq); index < this.#log.length; index += 1) {
      const entry = this.#log[index]!;
      if (this.#entries.get(entry.key) !== entry || isCutOff(entry)) continue;
      rows.push({ key: entry.key, untilMs: entry.untilMs });
    }
    const cutOffs: CutOff[] = [];
    for (const entry of this.#cutOffs?.values() ?? []) {
      if (entry.seq > cutOffsSince && isCutOff(entry)) cutOffs.push(cutOff(entry));
    }
    return { snapshot, filter, rows, cutOffs };
  }

  /** Whether a replica with an earlier filter has received so many rows since that it needs the new one. */
  #replaces(filterSeq: number): boolean {
    if (this.#filter === undefined || this.#fromSeq < 0) return false;
    if (this.#filter.seq <= filterSeq) return false;
    return this.#firstAfter(this.#filter.seq) - this.#firstAfter(filterSeq) >= this.#limits.maxEntries / 2;
  }

  /** While every row is in memory, a filter is built when a snapshot needs it, and serves until many rows are newer. */
  #currentFilter(seq: number): RevocationFilter | undefined {
    if (this.#fromSeq >= 0) return (this.#filter?.seq ?? -1) >= this.#fromSeq ? this.#filter : undefined;
    const rows = this.#entries.size - (this.#cutOffs?.size ?? 0);
    if (rows <= this.#limits.exactRows) return undefined;
    const newer = this.#filter && this.#log.length - this.#firstAfter(this.#filter.seq);
    const enough = Math.max(this.#limits.exactRows / 2, rows / 16);
    if (newer === undefined || newer > enough || this.#deleted > rows * deletedPart) this.#buildFromMemory(seq);
    return this.#filter;
  }

  #buildFromMemory(seq: number): void {
    const keys = new FilterKeys(randomHashKey());
    let untilMs = 0;
    for (const entry of this.#entries.values()) {
      if (isCutOff(entry)) continue;
      keys.add(entry.key);
      untilMs = Math.max(untilMs, entry.untilMs);
    }
    const bytes = buildSmallRowFilter(keys, randomSeed);
    if (bytes !== undefined) this.useFilter({ seq, untilMs, bytes }, keys.count);
  }

  /** There are more rows than memory holds: from now on, the oldest are known only by the filter. */
  #beginFilters(seq: number): void {
    this.#buildFromMemory(seq);
    this.#compact();
    this.#dropLog(this.#log[this.#log.length >>> 1]!.seq);
  }

  #dropLog(untilSeq: number): void {
    const first = this.#firstAfter(untilSeq);
    for (const entry of this.#log.slice(0, first)) {
      if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    }
    this.#log = this.#log.slice(first);
    this.#fromSeq = Math.max(this.#fromSeq, untilSeq);
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
    this.#log = this.#log.filter((entry) => this.#entries.get(entry.key) === entry);
  }
}

export function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]!;
}

export function isCutOff(entry: Entry | undefined): entry is Entry & { readonly version: number } {
  return entry?.version !== undefined;
}

export function cutOff({ key, untilMs, version }: Entry & { readonly version: number }): CutOff {
  return { key, untilMs, version };
}

function combine(known: Entry, added: Omit<Entry, "seq">): Omit<Entry, "seq"> {
  const { version } = added;
  if (version === undefined) return { ...added, untilMs: Math.max(known.untilMs, added.untilMs) };
  const change = { ...added, version };
  return isCutOff(known) ? combineCutOffs(known, change) : change;
}

function isSame(known: Entry, next: Omit<Entry, "seq">): boolean {
  return known.untilMs === next.untilMs && known.version === next.version;
}
