import { limits } from "@edge-op/shared/config/limits";
import { noVersion } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { NamedChange } from "@edge-op/shared/storage/record-kinds";

/** The renewals per second that the holders of one lease server may cause; an object does about 1,000 calls a second. */
const renewalsPerSecond = 400;
/** A longer lease than is needed, so that each new holder does not change the length, … */
const headroom = 1.1;
/** … and it is kept until much less is needed. */
const keptAbove = 0.7;

/**
 * **How long the leases of a server last**: as requested, or longer if its holders would renew more than {@link renewalsPerSecond} times
 * a second, each after `heldShare` of its lease. Pure. The price: a holder that is lost delays a revocation by the longer lease.
 */
export class LeaseLength {
  readonly #maxMs: number;
  readonly #heldShare: number;
  #adaptedMs = 0;

  constructor(maxMs: number, heldShare: number) {
    this.#maxMs = maxMs;
    this.#heldShare = heldShare;
  }

  /** After each lease: the number of holders, lost ones included until their leases have ended. */
  adapt(holders: number): void {
    const neededMs = (1_000 * holders) / (this.#heldShare * renewalsPerSecond);
    if (neededMs > this.#adaptedMs) this.#adaptedMs = headroom * neededMs;
    else if (neededMs < keptAbove * this.#adaptedMs) this.#adaptedMs = neededMs;
  }

  /** The length of the next lease; 0 if none is requested. */
  givenMs(requestedMs: number): number {
    if (!(requestedMs > 0)) return 0;
    return Math.floor(Math.min(this.#maxMs, Math.max(requestedMs, this.#adaptedMs)));
  }
}

/** An isolate that lacks more changes than this reads D1. */
export const rememberedChanges = 500;

/**
 * **The newest administrative changes**, included in the responses of a shard so that isolates do not read D1. Versions are
 * consecutive and end with the control version; the list is empty if the changes are not known. The newest carry their records, in memory only:
 * an isolate reads D1 for a record that a restart has lost. Pure.
 */
export type RecentChanges = readonly NamedChange[];

/**
 * The longest run of consecutive versions that ends with `cv`. A missing version is a gap (ADR 11): the run starts after it. Records beyond
 * `limits.changeRecords` are left out, the oldest first.
 */
export function continueChanges(known: RecentChanges, added: readonly NamedChange[], cv: number): RecentChanges {
  const byVersion = new Map([...known, ...added].map((change) => [change.version, change]));
  for (const change of known) if (change.record !== undefined) byVersion.set(change.version, change);
  const run: NamedChange[] = [];
  let characters = 0;
  for (let version = cv; run.length < rememberedChanges; version -= 1) {
    const change = byVersion.get(version);
    if (change === undefined) break;
    characters += change.record?.text.length ?? 0;
    run.push(characters > limits.changeRecords.allCharacters ? withoutRecord(change) : change);
  }
  return run.reverse();
}

function withoutRecord(change: NamedChange): NamedChange {
  const { version, kind, id, record } = change;
  return record === undefined ? change : { version, kind, id };
}

/**
 * Every change after `since` up to `cv`, or every known one after `noVersion`, without records: an isolate without a version holds none to replace.
 * `undefined` if one of them is not known.
 */
export function changesAfter(since: number, known: RecentChanges, cv: number): RecentChanges | undefined {
  if (since >= cv) return [];
  if (since === noVersion && known.length > 0) return known.map(withoutRecord);
  const first = known[0];
  if (first === undefined || since < 0 || first.version > since + 1) return undefined;
  return known.slice(since + 1 - first.version);
}
