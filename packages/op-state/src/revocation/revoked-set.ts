import { type CutOff, markedClient, markKey, type RevokedRow } from "@edge-op/shared/objects/token-revocation-store";

/** A row or a cut-off; only a cut-off has `notBeforeMs`. `seq` is the sequence number of its last change. */
export interface Entry {
  readonly key: string;
  readonly notBeforeMs: number | undefined;
  readonly untilMs: number;
  readonly seq: number;
  /** The client of the revoked token or grant, if known. */
  readonly clientId?: string | undefined;
}

/** The expiry of a mark is rounded up to a multiple of this. */
const markStepMs = 3_600_000;

/** Rows and cut-offs to add. */
export interface Additions {
  readonly rows: readonly (RevokedRow & { readonly clientId?: string })[];
  readonly cutOffs: readonly CutOff[];
}

export interface PlannedEntries {
  readonly entries: readonly Entry[];
  /** Clients whose rows are not replicated once the plan is applied. */
  readonly marked: ReadonlySet<string>;
  readonly seq: number;
}

/**
 * **The replicated revocation rows and cut-offs of a shard**, in memory, with the log from which a delta is read. Pure. Two values
 * of one key combine by maximum. More than `maxEntries` entries are not held in memory; the caller reads them from storage.
 *
 * A client with more rows than `maxPerClient` is marked: its rows stay in storage, the mark is replicated, and isolates check its
 * tokens exactly (ADR 20).
 */
export class RevokedSet {
  readonly #maxEntries: number;
  readonly #maxPerClient: number;
  /** Without the rows of marked clients. */
  #entries: Map<string, Entry> | undefined;
  #marked: ReadonlySet<string> = new Set();
  /** Rows in `#entries` of each client. */
  #rowsOfClient = new Map<string, number>();
  /** Ascending by seq; an entry that was changed since is skipped. */
  #log: Entry[] = [];

  constructor(maxEntries: number, maxPerClient: number) {
    this.#maxEntries = maxEntries;
    this.#maxPerClient = maxPerClient;
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

  /** The exact entry of a key. `find` reads storage, for entries that are not held here. */
  entryOf(key: string, find: (key: string) => Entry | undefined): Entry | undefined {
    const isComplete = this.#entries !== undefined && this.#marked.size === 0;
    return this.#entries?.get(key) ?? (isComplete ? undefined : find(key));
  }

  /** The additions that are new, numbered after `seq`: none if they repeat known entries. */
  plan({ rows, cutOffs }: Additions, seq: number): PlannedEntries {
    const entries = new Map<string, Entry>();
    let last = seq;
    const add = (key: string, notBeforeMs: number | undefined, untilMs: number, clientId?: string) => {
      const known = entries.get(key) ?? this.#entries?.get(key);
      const next = {
        key,
        notBeforeMs: notBeforeMs === undefined ? undefined : Math.max(notBeforeMs, known?.notBeforeMs ?? notBeforeMs),
        untilMs: Math.max(untilMs, known?.untilMs ?? untilMs),
        clientId: clientId ?? known?.clientId,
      };
      if (known !== undefined && known.notBeforeMs === next.notBeforeMs && known.untilMs === next.untilMs) return;
      last += 1;
      entries.set(key, { ...next, seq: last });
    };
    for (const { key, untilMs, clientId } of rows) add(key, undefined, untilMs, clientId);
    for (const { key, notBeforeMs, untilMs } of cutOffs) add(key, notBeforeMs, untilMs);
    const marks = this.#marksDue([...entries.values()]);
    for (const [clientId, untilMs] of marks) add(markKey(clientId), undefined, untilMs);
    return {
      entries: [...entries.values()].sort((a, b) => a.seq - b.seq),
      // While entries are not held here no mark is kept up to date: rows that come in stay with those to be replicated.
      marked: this.#entries === undefined ? new Set() : new Set([...this.#marked, ...marks.keys()]),
      seq: last,
    };
  }

  /** After the plan is written. */
  apply({ entries, marked }: PlannedEntries): void {
    if (this.#entries === undefined) return;
    if (marked.size > this.#marked.size) this.#letGo(marked);
    this.#marked = marked;
    for (const entry of entries) {
      if (entry.clientId !== undefined && marked.has(entry.clientId)) continue;
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

  /** Everything that changed after `seq`; −1 for all. */
  since(seq: number): { rows: RevokedRow[]; cutOffs: CutOff[] } {
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

export function isCutOff(entry: Entry | undefined): entry is Entry & { readonly notBeforeMs: number } {
  return entry?.notBeforeMs !== undefined;
}

export function cutOff({ key, notBeforeMs, untilMs }: Entry & { readonly notBeforeMs: number }): CutOff {
  return { key, notBeforeMs, untilMs };
}
