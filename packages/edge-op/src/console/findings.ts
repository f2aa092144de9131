import type { Call } from "./command.ts";
import type { Outcome } from "./failure.ts";
import { printable } from "./show.ts";

/** **One thing that was looked at**: whether it is right, what was seen, and what to do. */
export interface Finding {
  /** A stable name, for programs. */
  readonly check: string;
  /** `unknown`: it could not be looked at; `text` says why. */
  readonly result: "right" | "wrong" | "unknown";
  readonly text: string;
  /** The change that fixes it. */
  readonly mend?: string;
}

const marks = { right: "ok   ", wrong: "WRONG", unknown: "?    " } as const;

/** Prints findings and returns `refused` if one is wrong. */
export async function printFindings(
  { terminal, json }: Pick<Call, "terminal" | "json">,
  findings: readonly Finding[],
  beside: Readonly<Record<string, unknown>> = {},
): Promise<Outcome> {
  const outcome = findings.some(({ result }) => result === "wrong") ? "refused" : "done";
  if (json) {
    await terminal.write(`${JSON.stringify({ ...beside, findings }, null, 2)}\n`);
    return outcome;
  }
  for (const { check, result, text, mend } of findings) {
    const advice = mend === undefined || result === "right" ? "" : `       ${printable(mend)}\n`;
    await terminal.write(`${marks[result]}  ${check}: ${printable(text)}\n${advice}`);
  }
  return outcome;
}
