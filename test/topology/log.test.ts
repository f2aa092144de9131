import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { logEvents } from "../../packages/shared/src/runtime/log-events.ts";

/** Node programs, whose output is for a terminal. */
const programs = ["edge-op"];
/** A library: outside Workers, the failure of work after the response has no other place. */
const libraryFile = "packages/resource-server/src/resource-server.ts";
const logFile = "packages/shared/src/runtime/log.ts";

const sources = readdirSync(join(repositoryRoot, "packages"))
  .filter((name) => !programs.includes(name))
  .flatMap((name) =>
    readdirSync(join(repositoryRoot, "packages", name, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => `packages/${name}/src/${path}`),
  )
  .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), "utf8") }));

test("Workers and objects only write to the log in log.ts", () => {
  // Not texts and modules of the operator's console.
  const writes = /\bconsole\s*(?:\[|\.\s*(?:log|info|warn|error|debug|trace|table|dir|group|assert)\b)/;
  const writers = sources.filter(({ text }) => writes.test(text)).map(({ path }) => path);
  expect(writers.toSorted()).toEqual([libraryFile, logFile]);
});

test("every event is logged somewhere", () => {
  const texts = sources
    .filter(({ path }) => !/\/runtime\/(?:[a-z]+-events|log-levels)\.ts$/.test(path))
    .map(({ text }) => text);
  const unused = Object.keys(logEvents).filter((event) => !texts.some((text) => text.includes(`"${event}"`)));
  expect(unused).toEqual([]);
});
