import type { ReadLog, RecordName } from "../http/request-context.ts";
import type { ControlKind, RecordVersions } from "../storage/record-kinds.ts";

interface Read extends RecordName<ControlKind> {
  /** The control version that was known before the record was read, or that its copy carries. */
  readonly stamp: number | undefined;
}

/**
 * **The records that a decision has read, and whether all of them are current** (ADR 12): no change between the stamp of one and the control
 * version that the isolate knows names it. Free while the version stays the same.
 */
export class ReadSet implements ReadLog<ControlKind> {
  readonly #control: RecordVersions;
  readonly #reads: Read[] = [];
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

  areCurrent(): boolean {
    const { version } = this.#control;
    if (version === undefined || version === this.#currentAt) return version !== undefined;
    if (!this.#reads.every(({ kind, id, stamp }) => this.#control.isCurrent(kind, id, stamp))) return false;
    this.#currentAt = version;
    return true;
  }
}
