import type { ReadLog } from "../http/request-context.ts";
import type { ControlKind } from "../storage/record-kinds.ts";
import type { ControlView } from "./control-view.ts";

interface Read {
  readonly kind: ControlKind;
  readonly id: string;
  readonly version: number | undefined;
}

/**
 * **The reads of one attempt at a decision, and whether all of them belong to one control version** (ADR 12), that of the last
 * read. They do not when a change named a record between its read and a later one. Free while the version stays the same.
 */
export class DecisionReads implements ReadLog<ControlKind> {
  readonly #control: ControlView;
  readonly beganAt: number | undefined;
  readonly #reads: Read[] = [];
  #version: number | undefined;
  #isTorn = false;

  constructor(control: ControlView) {
    this.#control = control;
    this.beganAt = control.version;
    this.#version = control.version;
  }

  note(kind: ControlKind, id: string): void {
    const { version } = this.#control;
    if (version !== this.#version) {
      this.#version = version;
      // Evaluated now, because a later change would hide one that happened in between.
      this.#isTorn ||= this.#reads.some((read) => !this.#control.isCurrent(read.kind, read.id, read.version));
    }
    this.#reads.push({ kind, id, version });
  }

  get isTorn(): boolean {
    return this.#isTorn;
  }
}
