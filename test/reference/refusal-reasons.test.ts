import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { refusalReasons } from "../../packages/protocol/src/oauth/refusal-reasons.ts";

/** The reasons are keys of one record, so they are distinct; the types refuse an unknown reason. */
const tables = ["refusal-reasons.ts", "proof-faults.ts"].map((name) => `packages/shared/src/oauth/${name}`);

const sources = readdirSync(join(repositoryRoot, "packages")).flatMap((name) =>
  readdirSync(join(repositoryRoot, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `packages/${name}/src/${path}`),
);

test("every reason is used", () => {
  const texts = sources
    .filter((path) => !tables.includes(path))
    .map((path) => readFileSync(join(repositoryRoot, path), "utf8"));
  const unused = Object.keys(refusalReasons).filter((code) => !texts.some((text) => text.includes(`"${code}"`)));
  expect(unused).toEqual([]);
});

test("a reason is a short code in lower case; its meaning is a complete sentence", () => {
  for (const code of Object.keys(refusalReasons)) expect(code).toMatch(/^[a-z]+(-[a-z]+)+$/);
  for (const code of Object.keys(refusalReasons)) expect(code.length).toBeLessThan(40);
  const meanings = Object.values(refusalReasons);
  for (const meaning of meanings) expect(meaning).toMatch(/\.$/);
  expect(new Set(meanings).size).toBe(meanings.length);
});
