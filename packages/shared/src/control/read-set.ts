import type { ReadLog, RecordName } from "../http/request-context.ts";
import type { ControlKind, RecordVersions } from "../storage/record-kinds.ts";

interface Read extends RecordName<ControlKind> {
  /** The control version that was known before the record was read, or that its copy carries. */
  readonly stamp: number | undefined;
}

/** The reads on which a decision rests. */
export interface ReadCondition {
  /** No read is older than this control version. */
  readonly version: number;
  readonly reads: readonly RecordName<ControlKind>[];
}

/**
 * **The records that a decision has read, and whether all of them are current** (ADR 12): no change between the stamp of one and the control
 * version that the isolate knows names it. Free while the version stays the same.
 */
export class ReadSet implements ReadLog<ControlKind> {
  readonly #control: RecordVersions;
  readonly #reads: Read[] = [];
  /** Lines of the attempt for the log. */
  readonly #lines: (() => void)[] = [];
  #isDecided = false;
  /** All of them are current at this version. */
  #currentAt: number | undefined;

  constructor(control: RecordVersions) {
    this.#control = control;
    this.#currentAt = control.version;
  }

  get reads(): readonly RecordName<ControlKind>[] {
    return this.#reads;
  }

  note(kind: ControlKind, id: string, stamp: number | undefined = this.#control.version): void {
    this.#reads.push({ kind, id, stamp });
    if (stamp !== this.#currentAt) this.#currentAt = undefined;
  }

  whenDecided(write: () => void): void {
    if (this.#isDecided) write();
    else this.#lines.push(write);
  }

  /** The decision stands, or has failed and is not made again. */
  decided(): void {
    this.#isDecided = true;
    for (const write of this.#lines.splice(0)) write();
  }

  stampOf(kind: ControlKind, id: string): number | undefined {
    return this.#reads.find((read) => read.kind === kind && read.id === id)?.stamp;
  }

  /** The condition under which all of them are current, for a store that knows the changes; `undefined` if one has no stamp. */
  get condition(): ReadCondition | undefined {
    const stamps = this.#reads.map(({ stamp }) => stamp ?? Number.NEGATIVE_INFINITY);
    const version = Math.min(this.#control.version ?? Number.POSITIVE_INFINITY, ...stamps);
    if (version < 0 || version === Number.POSITIVE_INFINITY) return undefined;
    return { version, reads: this.#reads.map(({ kind, id }) => ({ kind, id })) };
  }

  areCurrent(): boolean {
    const { version } = this.#control;
    if (version === undefined || version === this.#currentAt) return version !== undefined;
    if (!this.#reads.every(({ kind, id, stamp }) => this.#control.isCurrent(kind, id, stamp))) return false;
    this.#currentAt = version;
    return true;
  }
}
