import type { Call } from "./command.ts";

const pauseMs = 10_000;

/** **How far a command is**: one line that is written again at a terminal, a line each ten seconds elsewhere, nothing beside JSON. */
export class Progress {
  readonly #call: Pick<Call, "terminal" | "json">;
  #nextMs: number;

  constructor(call: Pick<Call, "terminal" | "json">, nowMs = Date.now()) {
    this.#call = call;
    this.#nextMs = nowMs + pauseMs;
  }

  show(text: string, nowMs = Date.now()): void {
    const { terminal, json } = this.#call;
    if (json) return;
    if (terminal.isInteractive) terminal.note(`\r${text}`);
    else if (nowMs >= this.#nextMs) {
      this.#nextMs = nowMs + pauseMs;
      terminal.note(`${text}\n`);
    }
  }

  /** The last line. It must not be shorter than those before. */
  end(text: string): void {
    const { terminal, json } = this.#call;
    if (!json) terminal.note(terminal.isInteractive ? `\r${text}\n` : `${text}\n`);
  }
}
