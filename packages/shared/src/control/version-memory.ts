import { limits } from "../config/limits.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { ControlView } from "./control-view.ts";

/**
 * **What decisions of one control version have found out** (ADR 30): an entry is stored only if the version has not changed since its
 * decision began, so that all of its reads belong to that version, and found only while the isolate knows that version. It ends with what
 * it is based on, and after `limits.rememberedMs` at the latest. Cost: none.
 */
export class VersionMemory<Value> {
  readonly #control: ControlView;
  readonly #entries: IsolateCache<Value>;
  /** All entries are of this version. */
  #version: number | undefined;

  constructor(control: ControlView, maxBytes: number) {
    this.#control = control;
    this.#entries = new IsolateCache({ maxBytes });
  }

  get heldBytes(): number {
    return this.#entries.bytes;
  }

  get({ arrivedAtMs }: RequestContext<unknown>, key: string): Value | undefined {
    if (this.#version !== this.#control.version) return undefined;
    return this.#entries.get(key, arrivedAtMs);
  }

  /** Within a decision (control/settle.ts), after its last read. */
  set({ arrivedAtMs, progress }: RequestContext<unknown>, key: string, value: Value, endsAtMs: number): void {
    const version = progress.reads?.beganAt;
    if (version === undefined || version !== this.#control.version) return;
    if (version !== this.#version) {
      this.#entries.clear();
      this.#version = version;
    }
    this.#entries.set(key, value, Math.min(endsAtMs, arrivedAtMs + limits.rememberedMs));
  }
}
