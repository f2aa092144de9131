/** **A run of checks**: each step passes or fails on its own, and all steps run. */

import { spawn } from "node:child_process";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";

export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

export interface Step {
  readonly name: string;
  run(print: Print): Promise<Tally>;
}

export type Print = (line: string) => void;

export async function runSteps(steps: readonly Step[], print: Print = console.log): Promise<Tally> {
  let total: Tally = { passed: 0, failed: 0 };
  for (const step of steps) {
    const startedAt = performance.now();
    const tally = await step.run(print);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    print(`${tally.failed === 0 ? "✓" : "✗"} ${step.name} (${seconds} s)`);
    total = addTallies(total, tally);
  }
  return total;
}

export function addTallies(...tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** The last line of a run, and its exit code. */
export function concludeRun({ passed, failed }: Tally): void {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** A step that passes if a command succeeds. Its output is printed only if it fails. */
export function commandStep(name: string, command: string, commandArguments: readonly string[]): Step {
  return {
    name,
    async run(print) {
      const { code, output } = await runCommand(command, commandArguments);
      if (code !== 0) print(output);
      return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
    },
  };
}

export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

/** Runs a tool of node_modules/.bin at the root, on the Node that this script runs on. */
export function runCommand(
  command: string,
  commandArguments: readonly string[],
  options: { readonly show?: boolean } = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, commandArguments, {
      cwd: repositoryRoot,
      stdio: options.show === true ? "inherit" : ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
