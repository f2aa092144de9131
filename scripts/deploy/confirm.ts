import { createInterface } from "node:readline/promises";
import { Refusal } from "./refusal.ts";

/** **Asks before something is replaced or deleted for good**: each question must be answered with its text. `given` is `--confirm`. */
export async function confirm(
  name: string,
  given: string | undefined,
  questions: readonly (readonly [question: string, text: string])[],
): Promise<void> {
  if (given !== undefined) {
    if (given === name) return;
    throw new Refusal([`--confirm must be the name of the environment, "${name}", not "${given}".`]);
  }
  if (!process.stdin.isTTY) throw new Refusal([`Not a terminal: confirm with --confirm ${name}.`]);
  const terminal = createInterface({ input: process.stdin, output: process.stdout, terminal: false });
  try {
    for (const [question, text] of questions)
      if ((await terminal.question(question)) !== text) throw new Refusal(["Not confirmed."]);
  } finally {
    terminal.close();
  }
}
