import { closeSync, openSync, writeSync } from "node:fs";
import { type Call, type Option, textOption } from "../console/command.ts";
import { type Outcome, usageFailure } from "../console/failure.ts";
import type { Progress } from "../console/progress.ts";
import { showMembers } from "../console/show.ts";
import type { LineReport } from "./import-batches.ts";

export const reportOption: Option = {
  name: "report",
  kind: "text",
  description: "A new file for the records that were refused, and for what was left out, as lines of JSON.",
};

/** Refused records are shown without a file, too: the first ones. */
const mostShown = 20;

/** **The records that need a person's attention**: in a file, or the first ones on the terminal. */
export class Report {
  readonly #call: Call;
  readonly #progress: Progress;
  readonly #file: number | undefined;
  #shown = 0;
  #hidden = 0;

  constructor(call: Call, progress: Progress) {
    this.#call = call;
    this.#progress = progress;
    const path = textOption(call, "report");
    if (path === undefined) return;
    try {
      this.#file = openSync(path, "wx", 0o600);
    } catch (error) {
      throw usageFailure(`--report: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  add(line: LineReport<string>): void {
    if (line.result !== "refused" && line.left_out === undefined) return;
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(line)}\n`);
    else if (line.result === "refused" && !this.#call.json) this.#show(line);
  }

  #show({ record, line, file, sub, name, fields = [] }: LineReport<string>): void {
    this.#shown += 1;
    if (this.#shown > mostShown) {
      this.#hidden += 1;
      return;
    }
    const place = `${file === undefined ? "" : `${file}:`}${line}${record === line ? "" : ` (record ${record})`}`;
    const [id, shown] = [
      typeof sub === "string" ? sub : name,
      typeof sub === "string" && sub !== name ? name : undefined,
    ];
    const who = [...(id === undefined ? [] : [id]), ...(shown === undefined ? [] : [`(${shown})`])];
    const reasons = fields.map(({ path, message }) => `${path}${path === "" ? "" : ": "}${message}`).join("; ");
    this.#progress.note(`${[place, ...who].join(" ")}: ${reasons}`);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    if (this.#hidden > 0) this.#progress.note(`${this.#hidden} more are refused; --report FILE has all of them.`);
  }
}

/** The counts, and the exit code that says whether a record was refused. */
export async function finishImport(call: Call, counts: Readonly<Record<string, unknown>>): Promise<Outcome> {
  await call.terminal.write(call.json ? `${JSON.stringify(counts)}\n` : showMembers({ ...counts }));
  return counts["refused"] === 0 ? "done" : "refused";
}
