import type { StoredEvent } from "@edge-op/shared/audit/audit-event";
import { type Manifest, manifestKeyOf, type Segment } from "@edge-op/shared/audit/segment";
import * as production from "../../src/audit/seal-machine.ts";

type Machine = Omit<typeof production, "withSegment">;
type Step = production.SealStep;

/** A sealer with a defect: of its decisions, or of the conditions under which it writes. */
export interface Variant {
  readonly machine?: Partial<Machine>;
  readonly overwrites?: boolean;
  readonly listsBlindly?: boolean;
  readonly releasesAlways?: boolean;
}

interface StoredObject {
  readonly etag: string;
  readonly events: readonly StoredEvent[] | undefined;
}

const most = 4;
const recentMs = 6;
const waitMs = 3;

/** The stores of the audit log, and sealers that may end at any step, beside each other. */
export class SealWorld {
  nowMs = 0;
  epoch = 0;
  #etags = 0;
  #nextHash = 0;
  rows: StoredEvent[] = [];
  index: Segment[] = [];
  anchor = "start";
  readonly objects = new Map<string, StoredObject>();
  readonly manifests = new Map<string, { readonly etag: string; readonly manifest: Manifest }>();
  /** What was acknowledged, but for what a restoration of D1 has lost. */
  acknowledged: StoredEvent[] = [];
  #saved: Pick<SealWorld, "rows" | "index" | "anchor" | "acknowledged"> | undefined;
  /** The digest of each object when a manifest first named it. */
  readonly #listed = new Map<string, string>();
  readonly #variant: Variant;
  readonly #random: () => number;

  constructor(variant: Variant, random: () => number) {
    this.#variant = variant;
    this.#random = random;
  }

  append(): void {
    const position = this.acknowledged.length + 1;
    const hash = `h${this.#nextHash++}`;
    const previous = this.acknowledged.at(-1)?.chain ?? "start";
    const identity = { shard: "s", seq: position, type: "t", payload: "{}", previous, hash };
    const event = { position, atMs: this.nowMs, ...identity, chain: `${previous.slice(-40)}.${hash}` };
    this.rows = [...this.rows, event];
    this.acknowledged = [...this.acknowledged, event];
  }

  save(): void {
    const { rows, index, anchor, acknowledged } = this;
    this.#saved = { rows, index, anchor, acknowledged };
  }

  /** D1 returns to the state that was saved: later events are lost, and the next round of a sealer has a new epoch. */
  setBack(): void {
    if (this.#saved === undefined) return;
    Object.assign(this, this.#saved);
    this.epoch += 1;
  }

  /** One step of a sealer. `fault`: it ends before, or its response is lost, or what it writes is damaged. */
  perform(step: Step, fault?: "before" | "after" | "damaged"): Step {
    if (fault === "before") return { kind: "read" };
    try {
      const next = this.#apply(step, fault === "damaged");
      return fault === "after" ? { kind: "read" } : next;
    } catch {
      // The round ends, is logged, and is repeated later.
      return { kind: "read" };
    }
  }

  #apply(step: Step, isDamaged: boolean): Step {
    const machine = { ...production, ...this.#variant.machine };
    switch (step.kind) {
      case "read": {
        const events = this.rows.slice(0, most).map((event) => ({ ...event, isSettled: true }));
        const rules = { epoch: this.epoch, most, cutoffMs: this.nowMs - recentMs, waitMs };
        return machine.afterRead({ events, before: this.anchor }, rules);
      }
      case "create":
        if (this.#variant.overwrites || !this.objects.has(step.part.key))
          this.#put(step.part.key, step.part.events, isDamaged);
        return machine.afterCreate(step.part);
      case "inspect": {
        const found = this.objects.get(step.part.key);
        return machine.afterInspect(step.part, found && { ...found, digest: digestOf(found.events) });
      }
      case "open": {
        const found = this.manifests.get(manifestKeyOf(step.part.key));
        return machine.afterOpen(step.part, step.found, { segments: [], ...found?.manifest, etag: found?.etag });
      }
      case "replace":
        if (this.objects.get(step.part.key)?.etag === step.etag) this.#put(step.part.key, step.part.events, isDamaged);
        return machine.afterReplace(step.part);
      case "list": {
        const key = manifestKeyOf(step.segment.key);
        const isSame = this.manifests.get(key)?.etag === step.manifest.etag;
        if (isSame || this.#variant.listsBlindly) this.#list(key, step.manifest, step.segment);
        return machine.afterList(step, isSame || this.#variant.listsBlindly === true);
      }
      case "release":
        this.#release(step.segment);
        return { kind: "read" };
      case "done":
        return { kind: "read" };
    }
  }

  #put(key: string, events: readonly StoredEvent[], isDamaged: boolean): void {
    this.#etags += 1;
    const damaged =
      this.#random() < 0.5 ? undefined : events.slice(0, -1).map((event) => ({ ...event, payload: "{x}" }));
    this.objects.set(key, { etag: String(this.#etags), events: isDamaged ? damaged : events });
  }

  #list(key: string, manifest: Manifest, segment: Segment): void {
    this.#etags += 1;
    this.manifests.set(key, { etag: String(this.#etags), manifest: production.withSegment(manifest, segment) });
    if (!this.#listed.has(segment.key)) this.#listed.set(segment.key, segment.digest);
  }

  #release(segment: Segment): void {
    const isBeginning =
      this.rows[0]?.position === segment.from &&
      this.rows.some(({ position, chain }) => position === segment.to && chain === segment.chain);
    if (!isBeginning && !this.#variant.releasesAlways) return;
    this.index = [...this.index, segment];
    this.rows = this.rows.filter(({ position }) => position > segment.to);
    this.anchor = segment.chain;
  }

  /** What is wrong now. */
  faults(): string[] {
    const faults: string[] = [];
    const held = new Set(this.rows.map(({ chain }) => chain));
    let end = 0;
    for (const segment of this.index) {
      if (segment.from !== end + 1) faults.push(`${segment.from} follows ${end}: not once`);
      end = segment.to;
      const object = this.objects.get(segment.key);
      if (object === undefined || digestOf(object.events) !== segment.digest) {
        faults.push(`${segment.key} is not what was sealed`);
        continue;
      }
      for (const { chain } of object.events ?? []) {
        if (held.has(chain)) faults.push("an event is in both stores");
        held.add(chain);
      }
      const manifest = this.manifests.get(manifestKeyOf(segment.key))?.manifest;
      if (!manifest?.segments.some(({ key, digest }) => key === segment.key && digest === segment.digest))
        faults.push(`${segment.key} is in no manifest`);
    }
    for (const { position, chain } of this.acknowledged) if (!held.has(chain)) faults.push(`event ${position} is lost`);
    for (const [key, digest] of this.#listed) {
      if (digestOf(this.objects.get(key)?.events) !== digest) faults.push(`${key} was listed, and written again`);
    }
    return faults;
  }

  /** Objects of the newest epoch that no manifest names. */
  unlisted(): string[] {
    const isListed = (key: string) =>
      this.manifests.get(manifestKeyOf(key))?.manifest.segments.some((segment) => segment.key === key);
    return [...this.objects.keys()].filter((key) => key.startsWith(`audit/${this.epoch}/`) && !isListed(key));
  }

  /** Lets one sealer work until nothing is old enough. */
  settle(): void {
    let step: Step = { kind: "read" };
    for (let steps = 0; steps < 10_000; steps += 1) {
      step = this.perform(step);
      if (step.kind === "done") return;
    }
    throw new Error("the sealer does not come to an end");
  }
}

function digestOf(events: readonly StoredEvent[] | undefined): string {
  return JSON.stringify(events ?? null);
}

export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
