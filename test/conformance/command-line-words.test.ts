import { describe, expect, test } from "vitest";
import type { Command } from "../../packages/edge-op/src/console/command.ts";
import { Progress } from "../../packages/edge-op/src/console/progress.ts";
import { CommandLine, commands, version } from "./fixtures/command-line.ts";

/** What every command has in common, without a provider: help, version, the place of options, and what a wrong line says. */
const nobody = new CommandLine();
const nameOf = ({ words }: Command) => words.join(" ");
const placesOf = ({ arguments: named = [] }: Command) => named.map(() => "any");

describe("every command", () => {
  test.each([
    ["-h at its end", (command: Command) => [...command.words, "-h"]],
    ["--help before it", (command: Command) => ["--help", ...command.words]],
    ["-h before it", (command: Command) => ["-h", ...command.words]],
    ["help before it", (command: Command) => ["help", ...command.words]],
    ["-h beside an unknown option", (command: Command) => [...command.words, "--no-such-option", "-h"]],
    ["-h after its arguments", (command: Command) => [...command.words, ...placesOf(command), "-h"]],
  ])("%s prints its help", async (_, lineOf) => {
    for (const command of commands) {
      const { code, output, errors } = await nobody.run(lineOf(command));
      const usage = output.includes(`Usage: edge-op ${nameOf(command)} `);
      expect([nameOf(command), code, usage, errors]).toEqual([nameOf(command), 0, true, ""]);
    }
  });

  test("--version, wherever it stands, prints the version", async () => {
    for (const { words } of commands)
      for (const line of [
        [...words, "--version"],
        ["--version", ...words],
      ])
        expect([line, (await nobody.run(line)).output]).toEqual([line, `${version}\n`]);
    expect((await nobody.run(["version"])).output).toBe(`${version}\n`);
    expect((await nobody.run(["--version"])).code).toBe(0);
  });

  test("a wrong line is 2, and names the command's own usage and help, not those of all", async () => {
    for (const command of commands) {
      const { code, errors } = await nobody.run([...command.words, "--no-such-option"]);
      const lines = errors.trim().split("\n");
      expect([nameOf(command), code, lines.length]).toEqual([nameOf(command), 2, 4]);
      expect(lines[0]).toContain("--no-such-option");
      expect(lines.slice(2)).toEqual([
        expect.stringContaining(`Usage: edge-op ${nameOf(command)} `),
        `edge-op ${nameOf(command)} --help explains it.`,
      ]);
    }
  });

  test("options of every command stand before, between and after its words", async () => {
    nobody.writeContexts({ other: { issuer: "https://op.example.com", client_id: "one", client_secret: "any" } });
    for (const line of [
      "--context other --json context show",
      "--context=other context --json show",
      "context --context other show --json",
      "context show --json --context other",
    ]) {
      const { code, json } = await nobody.run(line.split(" "));
      expect([line, code, json["context"]]).toEqual([line, 0, "other"]);
    }
    expect((await nobody.run(["--context", "none", "context", "show"])).errors).toContain("none");
  });

  test.each([40, 80, 200])("the help has no line over %i columns that could be broken", async (columns) => {
    for (const command of [[], ...commands.map(({ words }) => words)]) {
      const { output } = await nobody.run([...command, "--help"], { columns });
      const [text = ""] = output.split("Examples:");
      const breakable = (line: string) => !/^(Usage: |edge-op )/.test(line) && line.trim().includes(" ");
      const long = text.split("\n").filter((line) => line.length > Math.min(columns, 100) + 1 && breakable(line));
      expect(long.filter((line) => !/^ +\S+( <\S+>)?$/.test(line))).toEqual([]);
    }
  });
});

describe("a mistyped word", () => {
  test.each([
    ["users lst", "users list"],
    ["user list", "users list"],
    ["usrs", "users"],
    ["users shwo alice", "users show"],
    ["list users", "users list"],
    ["client secrets rotate notes", "clients secrets rotate"],
    ["clients secret rotate notes", "clients secrets rotate"],
    ["--context x usres list", "users list"],
    ["aply edge-op.yaml", "apply"],
    ["devv", "dev"],
  ])("%s: suggests %s in a few lines", async (line, expected) => {
    const { code, output, errors } = await nobody.run(line.split(" "));
    expect([code, output]).toEqual([2, ""]);
    expect(errors).toContain("There is no command ");
    expect(errors).toContain(`\n  edge-op ${expected}\n`);
    expect(errors.split("\n").length).toBeLessThan(8);
  });

  test.each([
    ["frobnicate", /^There is no command "frobnicate"\.\nedge-op help lists all commands\.\n$/],
    ["users frobnicate", /^There is no command "users frobnicate"\.\n\nedge-op users <command>[\s\S]*users list/],
    ["users", /^A command is missing\.\n\nedge-op users <command>/],
    ["users list --limt 3", /^There is no option --limt\. Did you mean --limit\?\n/],
    ["clients update a --clientname b", /--client-name/],
    ["users show", /^<sub> is missing: The sub of the user\.\n/],
  ])("%s", async (line, message) => {
    const { code, errors } = await nobody.run(line.split(" "));
    expect([code, errors]).toEqual([2, expect.stringMatching(message)]);
  });
});

test.each([
  [true, `\r1 events\r2 events\r[${"#".repeat(12)}${"-".repeat(12)}] 3 events (50 %)\ndone\n`],
  [false, "2 events\ndone\n"],
])(
  "progress at a terminal (%j) is one line; elsewhere a line each ten seconds, and the last",
  (isInteractive, expected) => {
    let shown = "";
    const note = (text: string) => {
      shown += text;
    };
    const progress = new Progress({ isInteractive, note }, "events", 0);
    progress.show(1, undefined, 9_999);
    progress.show(2, undefined, 10_000);
    progress.show(3, 0.5, 19_999);
    progress.note("done");
    expect(shown).toBe(expected);
  },
);
