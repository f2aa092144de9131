import type { StoredEvent } from "@edge-op/shared/audit/audit-event";
import { type Manifest, type Segment, segmentKey } from "@edge-op/shared/audit/segment";

/** The beginning of what D1 has, in the order of the chain. */
export interface Unsealed {
  readonly events: readonly UnsealedEvent[];
  /** The chain value before the first one. */
  readonly before: string;
}

export interface UnsealedEvent extends StoredEvent {
  /** No earlier event of its object is still to come: the watermark has passed it. */
  readonly isSettled: boolean;
}

/** An object as it was read back. */
export interface FoundObject {
  readonly etag: string;
  readonly digest: string;
  /** `undefined` if it is no segment. */
  readonly events: readonly StoredEvent[] | undefined;
}

export interface FoundManifest extends Manifest {
  /** `undefined` if there is none yet. */
  readonly etag: string | undefined;
}

export interface CutRules {
  readonly epoch: number;
  readonly most: number;
  /** Older events are sealed. */
  readonly cutoffMs: number;
  /** A segment with fewer than `most` waits until its first event is older than the cutoff by this. */
  readonly waitMs: number;
}

/** What is written, and the rows that D1 had when it was cut. */
interface Part {
  readonly key: string;
  readonly events: readonly StoredEvent[];
  readonly unsealed: Unsealed;
}

/** **The next step of a sealer**: one access to one store. A process that ends at any of them begins again with `read`. */
export type SealStep =
  | { readonly kind: "read" }
  /** Write the object if there is none. */
  | { readonly kind: "create"; readonly part: Part }
  /** Read the object back. */
  | { readonly kind: "inspect"; readonly part: Part }
  /** Read the manifest. */
  | { readonly kind: "open"; readonly part: Part; readonly found: FoundObject }
  /** Overwrite the object, if it is still the one with this etag. */
  | { readonly kind: "replace"; readonly part: Part; readonly etag: string }
  /** Write the manifest, if it is still the one that was read. */
  | {
      readonly kind: "list";
      readonly part: Part;
      readonly found: FoundObject;
      readonly manifest: FoundManifest;
      readonly segment: Segment;
    }
  /** One transaction of D1: the row of the segment, the anchors, and the events end there. Nothing, if D1 no longer begins with these events. */
  | { readonly kind: "release"; readonly segment: Segment; readonly events: readonly StoredEvent[] }
  | { readonly kind: "done" };

/** A late event of an object holds later ones back for this long; its outbox sends it again each minute. */
const longestHoleMs = 7 * 86_400_000;

/**
 * **Seals the oldest events of D1 as a segment in R2** (ADR 35): cut → object → read back → manifest → D1. Pure.
 *
 *   S1  an event leaves D1 only in the transaction that names its segment, and only after the object was read back and is equal
 *   S2  the manifest names a segment before D1 does, and an object that a manifest names is never written again
 *   S3  the first object at a position decides the cut: a sealer that finds another one continues with that
 *
 * So a crash between any two steps, a lost response, a damaged write and a second sealer cost a repetition, and nothing else.
 */
export function afterRead(unsealed: Unsealed, rules: CutRules): SealStep {
  const events = cut(unsealed.events, rules);
  if (events.length === 0) return { kind: "done" };
  return { kind: "create", part: { key: segmentKey(events[0]!, rules.epoch), events, unsealed } };
}

function cut(events: readonly UnsealedEvent[], { most, cutoffMs, waitMs }: CutRules): readonly StoredEvent[] {
  const first = events[0];
  if (first === undefined) return [];
  const end = events.findIndex(
    ({ atMs, isSettled }) => atMs >= cutoffMs || !(isSettled || atMs < cutoffMs - longestHoleMs),
  );
  const old = events.slice(0, Math.min(end === -1 ? events.length : end, most));
  const isDue = old.length === most || first.atMs < cutoffMs - waitMs;
  return isDue ? old.map(({ isSettled: _, ...event }) => event) : [];
}

export function afterCreate(part: Part): SealStep {
  return { kind: "inspect", part };
}

/** `found`: `undefined` if the bucket has no such object. */
export function afterInspect(part: Part, found: FoundObject | undefined): SealStep {
  if (found === undefined) throw new Error(`the segment ${part.key} is not there after it was written`);
  // Another sealer had read more of D1.
  if (found.events !== undefined && found.events.length > part.unsealed.events.length) {
    return isPrefix(part.unsealed.events, found.events) ? { kind: "read" } : { kind: "open", part, found };
  }
  return { kind: "open", part, found };
}

export function afterOpen(part: Part, found: FoundObject, manifest: FoundManifest): SealStep {
  const listed = manifest.segments.find(({ key }) => key === part.key);
  const { events, digest } = found;
  if (events === undefined || events.length === 0 || !isPrefix(events, part.unsealed.events)) {
    if (listed === undefined) return { kind: "replace", part, etag: found.etag };
    throw new Error(`the segment ${part.key} is listed, and differs from what D1 has`);
  }
  const [first, last] = [events[0]!, events.at(-1)!];
  const times = events.map(({ atMs }) => atMs);
  const segment: Segment = {
    ...{ key: part.key, from: first.position, to: last.position, digest },
    ...{ fromMs: Math.min(...times), toMs: Math.max(...times) },
    ...{ before: part.unsealed.before, chain: last.chain },
  };
  if (listed?.digest === digest) return { kind: "release", segment, events };
  return { kind: "list", part, found, manifest, segment };
}

export function afterReplace(part: Part): SealStep {
  return { kind: "inspect", part };
}

/** `isWritten`: whether the manifest was still the one that was read. */
export function afterList(step: SealStep & { readonly kind: "list" }, isWritten: boolean): SealStep {
  const { part, found, segment } = step;
  return isWritten ? { kind: "release", segment, events: found.events! } : { kind: "open", part, found };
}

export function withSegment({ segments }: Manifest, segment: Segment): Manifest {
  return { segments: [...segments.filter(({ key }) => key !== segment.key), segment] };
}

function isPrefix(events: readonly StoredEvent[], of: readonly StoredEvent[]): boolean {
  return events.every((event, index) => {
    const other = of[index];
    return (
      other !== undefined &&
      event.position === other.position &&
      event.shard === other.shard &&
      event.seq === other.seq &&
      event.atMs === other.atMs &&
      event.type === other.type &&
      event.payload === other.payload &&
      event.previous === other.previous &&
      event.hash === other.hash &&
      event.chain === other.chain
    );
  });
}
