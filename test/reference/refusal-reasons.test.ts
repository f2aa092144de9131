import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import remedies from "../../packages/protocol/data/refusal-remedies.json" with { type: "json" };
import { explainReason } from "../../packages/protocol/src/oauth/explain-reason.ts";
import { refusalReasons } from "../../packages/protocol/src/oauth/refusal-reasons.ts";

/** The reasons are keys of one record, so they are distinct; the types refuse an unknown reason. */
const tables = ["refusal-reasons.ts", "proof-faults.ts"].map((name) => `packages/protocol/src/oauth/${name}`);

const sources = readdirSync(join(repositoryRoot, "packages")).flatMap((name) =>
  readdirSync(join(repositoryRoot, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `packages/${name}/src/${path}`),
);

test("every reason is used", () => {
  const texts = sources
    .filter((path) => !tables.includes(path))
    .map((path) => readFileSync(join(repositoryRoot, path), "utf8"));
  const used = new Set(texts.flatMap((text) => [...text.matchAll(/"(?=([a-z-]+)")/g)].map(([, code]) => code)));
  const unused = Object.keys(refusalReasons).filter((code) => !used.has(code));
  expect(unused).toEqual([]);
});

test("a reason is a short code in lower case; its meaning is a complete sentence", () => {
  for (const code of Object.keys(refusalReasons)) expect(code).toMatch(/^[a-z]+(-[a-z]+)+$/);
  for (const code of Object.keys(refusalReasons)) expect(code.length).toBeLessThan(40);
  const meanings = Object.values(refusalReasons);
  for (const meaning of meanings) expect(meaning).toMatch(/\.$/);
  expect(new Set(meanings).size).toBe(meanings.length);
});

test("every reason has an explanation, a remedy that is a sentence for whoever can act, and a page that exists", () => {
  for (const [reason, meaning] of Object.entries(refusalReasons)) {
    const { explanation, remedy, documentation } = explainReason(reason);
    expect(explanation).toBe(meaning);
    expect(remedy, reason).toMatch(/^[A-Z][^\n]{10,}\.$/);
    expect(remedy, reason).not.toBe(explanation);
    expect(existsSync(join(repositoryRoot, documentation)), documentation).toBe(true);
  }
  expect(Object.keys(remedies).filter((reason) => !(reason in refusalReasons))).toEqual([]);
  expect(explainReason("reason-of-another-release").remedy).toMatch(/\.$/);
});

test("of the Workers, only those that show remedies contain them", () => {
  const importing = sources.filter((path) =>
    readFileSync(join(repositoryRoot, path), "utf8").match(/\/explain-reason"/),
  );
  expect(new Set(importing.map((path) => path.split("/")[1]))).toEqual(new Set(["edge-op", "op-management"]));
});
