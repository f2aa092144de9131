import { expect, test } from "vitest";
import { readRepositoryFile } from "../../scripts/reference/repository-files.ts";

/** ADR 6: the page of the replacement says of every derived key what becomes of what it has made, so that a new one cannot be forgotten. */
const page = readRepositoryFile("docs/operating/rotate-keys.md");

function rows(): Map<string, string> {
  const table = page.slice(page.indexOf("| Derived key |")).split("\n\n")[0]!;
  const lines = table.split("\n").slice(2);
  return new Map(
    lines.flatMap((line) => {
      const [, keys = "", , afterwards = ""] = line.split("|");
      return [...keys.matchAll(/`([\w-]+)`/g)].map(([, key = ""]): [string, string] => [key, afterwards.trim()]);
    }),
  );
}

test("ADR 6: every derived key has its row", () => {
  const source = readRepositoryFile("packages/shared/src/secrets/master-key.ts");
  const [, union = ""] = /^type Purpose =([^;]+);/m.exec(source)!;
  const purposes = [...union.matchAll(/"([\w-]+)"/g)].map(([, name]) => name);
  expect(purposes.length).toBeGreaterThan(15);
  expect([...rows().keys()].toSorted()).toEqual(purposes.toSorted());
});

test("ADR 6: exactly what stays sealed in D1 is sealed again", () => {
  const source = readRepositoryFile("packages/op-state/src/sweeps/seal-secrets-again.ts");
  const sealed = [...source.matchAll(/purpose: "([\w-]+)"/g)].map(([, name]) => name);
  const named = [...rows()]
    .filter(([, afterwards]) => afterwards === "sealed again, with progress")
    .map(([key]) => key);
  expect(named.toSorted()).toEqual([...new Set(sealed)].toSorted());
});
