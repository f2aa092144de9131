import { expect, test } from "vitest";
import { readRepositoryFile } from "../../scripts/reference/repository-files.ts";

/** `docs/reference/attacks.md` names tests by their file and a part of their name, or of a row of their table. */
const page = readRepositoryFile("docs/reference/attacks.md");
const rows = page.split("\n").filter((line) => /^\| (?!Attack|---)/.test(line));

function testsOf(row: string): { readonly path: string; readonly name: string }[] {
  const cited = row.matchAll(/\]\(\.\.\/\.\.\/([^)]+\.test\.ts)\): ((?:“[^”]+”(?:, )?)+)/g);
  return [...cited].flatMap(([, path = "", names = ""]) =>
    [...names.matchAll(/“([^”]+)”/g)].map(([, name = ""]) => ({ path, name })),
  );
}

test("each attack has a test", () => {
  expect(rows.length).toBeGreaterThan(80);
  expect(rows.filter((row) => testsOf(row).length === 0)).toEqual([]);
});

test("each named test exists", () => {
  const missing = rows.flatMap(testsOf).filter(({ path, name }) => !readRepositoryFile(path).includes(name));
  expect(missing).toEqual([]);
});
