import type { Terminal } from "./terminal.ts";

const lineMs = 10_000;
const barWidth = 24;

/**
 * **How far a long command is**: a bar that is drawn again for a person at a terminal; for a log, a line each ten seconds. It is written when
 * something has happened, so that a command that stands still shows it.
 */
export class Progress {
  readonly #terminal: Pick<Terminal, "isInteractive" | "note">;
  readonly #noun: string;
  #writtenMs: number;
  #isDrawn = false;

  constructor(terminal: Pick<Terminal, "isInteractive" | "note">, noun: string, nowMs = Date.now()) {
    this.#terminal = terminal;
    this.#noun = noun;
    this.#writtenMs = nowMs;
  }

  /** `share`: from 0 to 1, if it is known. */
  show(count: number, share?: number, nowMs = Date.now()): void {
    const percent = share === undefined ? "" : ` (${Math.floor(Math.min(1, share) * 100)} %)`;
    const text = `${count} ${this.#noun}${percent}`;
    if (this.#terminal.isInteractive) {
      const full = Math.round(Math.min(1, share ?? 0) * barWidth);
      const bar = share === undefined ? "" : `[${"#".repeat(full)}${"-".repeat(barWidth - full)}] `;
      this.#terminal.note(`\r${bar}${text}`);
      this.#isDrawn = true;
    } else if (nowMs - this.#writtenMs >= lineMs) {
      this.#writtenMs = nowMs;
      this.#terminal.note(`${text}\n`);
    }
  }

  /** A line that stays. */
  note(line: string): void {
    this.end();
    this.#terminal.note(`${line}\n`);
  }

  end(): void {
    if (this.#isDrawn) this.#terminal.note("\n");
    this.#isDrawn = false;
  }
}
