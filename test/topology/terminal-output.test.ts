import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCommandLine } from "../../packages/edge-op/src/commands/run-command-line.ts";
import type { Call, Command } from "../../packages/edge-op/src/console/command.ts";
import { escapeOutput } from "../../packages/edge-op/src/console/escape-output.ts";
import { Failure } from "../../packages/edge-op/src/console/failure.ts";
import { Table } from "../../packages/edge-op/src/console/show.ts";
import type { Terminal } from "../../packages/edge-op/src/console/terminal.ts";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";

/** C0, DEL, C1, a bidi override, an isolate, a zero-width joiner, a byte order mark, a tag and line separators. */
const hostile = "\u001b[5A\u0007\u0000\r\t\u007f\u009b2J\u202e\u2066\u200d\ufeff\u{e0041}\u2028\u2029";
const control = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u;

async function run(words: readonly string[], act: (call: Call) => Promise<void>): Promise<string> {
  let shown = "";
  const show = (text: string) => {
    shown += text;
    return Promise.resolve("");
  };
  const terminal: Terminal = {
    ...{ environment: {}, isInteractive: true, columns: 80, readInput: () => show("") },
    write: async (text) => void (await show(text)),
    note: (text) => void show(text),
    ...{ ask: show, askSecret: show, openBrowser: () => undefined },
  };
  const command: Command = { words: ["try"], summary: "", examples: [], run: act };
  await runCommandLine([command], words, terminal, "1.2.3");
  return shown;
}

describe("what a provider, a file or an environment sends reaches no terminal as a control", () => {
  test.each<[string, (call: Call) => Promise<void>]>([
    ["a result", ({ terminal }) => terminal.write(hostile)],
    ["a table", ({ terminal }) => terminal.write(new Table(["name"], 80).add([{ name: hostile }]))],
    ["JSON", ({ terminal }) => terminal.write(JSON.stringify({ [hostile]: hostile }))],
    ["a note", async ({ terminal }) => terminal.note(`- ${hostile}`)],
    ["a question", async ({ terminal }) => void (await terminal.ask(hostile))],
    ["a question for a secret", async ({ terminal }) => void (await terminal.askSecret(hostile))],
    ["a failure", () => Promise.reject(new Failure("refused", hostile))],
    ["an error that nobody expected", () => Promise.reject(new TypeError(hostile, { cause: hostile }))],
  ])("%s", async (_, act) => {
    const shown = await run(["try"], act);
    expect(shown).toContain("\\u001b");
    expect(shown).not.toMatch(control);
  });

  test("a failure as JSON, and a command that does not exist", async () => {
    const failed = await run(["try", "--json"], () => Promise.reject(new Failure("refused", hostile)));
    expect(failed).not.toMatch(control);
    expect(JSON.parse(failed)).toMatchObject({ error_description: hostile });
    expect(await run([hostile], async () => {})).not.toMatch(control);
  });

  test("JSON stays the same JSON, lines stay lines, and progress begins its line again", () => {
    expect(JSON.parse(escapeOutput(JSON.stringify({ [hostile]: [hostile] }, null, 2)))).toEqual({
      [hostile]: [hostile],
    });
    expect(escapeOutput("\r3 users")).toBe("\r3 users");
    expect(escapeOutput("one\n\ttwo\r\n")).toBe("one\n\\u0009two\\u000d\n");
  });

  test("the streams of a program that writes to the console", () => {
    const module = join(repositoryRoot, "packages/edge-op/src/console/escape-output.ts");
    const program = `import { escapeStreams } from ${JSON.stringify(module)};
      escapeStreams(); console.log("one\\u001b[2J"); process.stdout.write(new TextEncoder().encode("two\\u009b"));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    expect(output).toBe("one\\u001b[2J\ntwo\\u009b");
  });
});

/** The scripts that show the output of this repository's own tools alone, and parts of others. */
const ownOutput = [
  "build",
  "check",
  "count-days",
  "count-simulations",
  "keep-release",
  "make-pictures",
  "run-tests",
  "steps",
  "test",
];
const parts = { "deploy.ts": "deploy-command.ts", "deploy-button.ts": "deploy-command.ts" } as Record<string, string>;
const writes = /\bconsole\.(?:log|info|warn|error)|\b(?:stdout|stderr)\.write\(/;

function filesOf(folder: string, recursive: boolean): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `${folder}/${path}`);
}

function textOf(path: string): string {
  return readFileSync(join(repositoryRoot, path), "utf8");
}

test("every script that writes what others have sent escapes its streams", () => {
  const programs = [...filesOf("scripts", false), ...filesOf("scripts/demo", false)]
    .filter((path) => writes.test(textOf(path)))
    .filter((path) => !ownOutput.some((name) => path === `scripts/${name}.ts`));
  const open = programs.filter((path) => {
    const name = path.slice("scripts/".length);
    return !textOf(`scripts/${parts[name] ?? name}`).includes("\nescapeStreams();\n");
  });
  expect(open).toEqual([]);
});

test("in edge-op, only the development commands write to the console", () => {
  const folders = ["dev", "init"];
  // Its log is read by the process that has started it.
  const children = ["serve-isolate.ts"];
  const own = ["console/escape-output.ts", "console/terminal.ts"];
  const writers = filesOf("packages/edge-op/src", true)
    .filter((path) => writes.test(textOf(path)))
    .map((path) => path.slice("packages/edge-op/src/".length))
    .filter((path) => !folders.includes(path.split("/")[0]!));
  expect(writers.toSorted()).toEqual([...own, ...children].toSorted());
});
