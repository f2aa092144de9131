/** Commands on the pages for operators: each is a command of the product, and takes the names of Workers and stores from the environment's file. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { parseOptions } from "../../scripts/deploy/options.ts";

const folder = join(repositoryRoot, "docs/operating");
const pages = readdirSync(folder).filter((name) => name.endsWith(".md"));

/** What is in blocks and in code of a sentence. */
function codeOf(page: string): string[] {
  const text = readFileSync(join(folder, page), "utf8");
  return [...text.matchAll(/```sh\n([\s\S]*?)```|`([^`\n]+)`/g)].flatMap(([, block, span]) =>
    (block ?? span ?? "").replaceAll("\\\n", " ").split("\n"),
  );
}

const commands = pages.flatMap((page) =>
  codeOf(page).flatMap((line) => {
    const found = /npm run (?:-s )?deploy(?: -- ([^|#&)]*))?/.exec(line);
    return found === null ? [] : [{ page, given: (found[1] ?? "").trim() }];
  }),
);

describe("docs/operating", () => {
  test.each(commands)("$page: npm run deploy -- $given", ({ given }) => {
    const words = given.split(/\s+/).filter((word) => word !== "");
    expect(() => parseOptions(words.map((word) => word.replaceAll('"', "")))).not.toThrow();
  });

  test("names no file that only the machine has which deployed, and no Worker or database that only one shape or environment has", () => {
    const wrong = pages.flatMap((page) =>
      codeOf(page)
        .filter((line) => /\.generated\/\S+\.json.*--|--config deployments|wrangler (?:tail|d1)\b/.test(line))
        .map((line) => `${page}: ${line}`),
    );
    expect(wrong).toEqual([]);
    expect(commands.length).toBeGreaterThan(20);
  });
});

test.each([
  ["--help", 0],
  ["-h", 0],
  ["--nope", 2],
])("npm run admin-client -- %s says how it is called, and calls nothing", (option, status) => {
  const script = join(repositoryRoot, "scripts/create-admin-client.ts");
  const run = spawnSync(process.execPath, [script, option], { encoding: "utf8" });
  const output = run.stdout + run.stderr;
  expect([run.status, output.includes("--invite <address>"), /^\s+at /m.test(output)]).toEqual([status, true, false]);
});
