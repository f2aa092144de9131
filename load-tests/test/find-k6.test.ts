import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findK6 } from "../lib/find-k6.ts";

const path = process.env["PATH"];
let directory: string;
afterEach(() => {
  process.env["PATH"] = path;
  rmSync(directory, { recursive: true });
});

/** A directory of programs that is the entire PATH. */
function programs(scripts: Readonly<Record<string, string>>): void {
  directory = mkdtempSync(join(tmpdir(), "edge-op-k6-"));
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  process.env["PATH"] = directory;
}

test("the command announces that Go builds k6, which takes minutes", () => {
  programs({ go: 'test "$1" = version || echo "k6 v1.2.3"' });
  const lines: string[] = [];
  expect(findK6((line) => lines.push(line))).toEqual({
    command: "go",
    arguments: ["tool", "k6"],
    version: "k6 v1.2.3",
  });
  expect(lines.join()).toContain("The first build takes some minutes");
});

test("an installed k6 is used silently; without Go, no build is announced", () => {
  const lines: string[] = [];
  programs({ k6: 'echo "k6 v9.9.9"' });
  expect(findK6((line) => lines.push(line))).toEqual({ command: "k6", arguments: [], version: "k6 v9.9.9" });
  rmSync(directory, { recursive: true });
  programs({});
  expect(findK6((line) => lines.push(line))).toBeUndefined();
  expect(lines).toEqual([]);
});
