import type { ReadLog } from "../http/request-context.ts";
import type { ControlKind, ControlView } from "./control-view.ts";

interface Read {
  readonly kind: ControlKind;
  readonly id: string;
  readonly version: number | undefined;
}

/**
 * **What one attempt at a decision has read, and whether all of it belongs to one control version** (ADR 12): that of the last
 * read. It is torn when a change named something between its reading and a later one. Costs nothing while no version moves.
 */
export class DecisionReads implements ReadLog<ControlKind> {
  readonly #control: ControlView;
  readonly #reads: Read[] = [];
  #version: number | undefined;
  #isTorn = false;

  constructor(control: ControlView) {
    this.#control = control;
    this.#version = control.version;
  }

  note(kind: ControlKind, id: string): void {
    const { version } = this.#control;
    if (version !== this.#version) {
      this.#version = version;
      // Looked at now: a later change would hide whether one came in between.
      this.#isTorn ||= this.#reads.some((read) => !this.#control.isCurrent(read.kind, read.id, read.version));
    }
    this.#reads.push({ kind, id, version });
  }

  get isTorn(): boolean {
    return this.#isTorn;
  }
}
