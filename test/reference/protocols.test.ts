import { describe, expect, test } from "vitest";
import { proseOf, readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

/** The invariants and rules of docs/reference/protocols.md, and their citations. */
const page = readRepositoryFile("docs/reference/protocols.md");

/** The text of each section, by its number. */
const sections = new Map(
  page
    .split(/^## (?=\d\. )/m)
    .slice(1)
    .map((text) => [text[0]!, text]),
);

function definitionsIn(text: string): string[] {
  return [...text.matchAll(/^\| \*\*([GIRKATP]\d)\*\* \|/gm)].map(([, name]) => name!);
}

const sectionOf = new Map([...sections].flatMap(([number, text]) => definitionsIn(text).map((name) => [name, number])));

const citing = repositoryFiles()
  .filter((path) => /\.(tsx?|md|sql)$/.test(path))
  .filter((path) => !path.includes("/reports/") && path !== "docs/reference/protocols.md" && path !== "CHANGELOG.md")
  .map((path) => ({ path, text: proseOf(path) }));

test("sections 1 to 6 exist, in order", () => {
  expect([...sections.keys()]).toEqual(["1", "2", "3", "4", "5", "6"]);
});

test("each invariant is defined once, and its series has no gap", () => {
  const defined = definitionsIn(page);
  expect(defined).toEqual([...new Set(defined)]);
  for (const [letter, section] of Object.entries({ G: "1", I: "2", T: "2", R: "3", K: "4", A: "5", P: "6" })) {
    const numbers = defined.filter((name) => name.startsWith(letter)).map((name) => Number(name[1]));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(numbers.length).toBeGreaterThan(0);
    for (const number of numbers) expect(sectionOf.get(`${letter}${number}`)).toBe(section);
  }
});

describe("citations", () => {
  test("every cited invariant is defined", () => {
    const unknown = citing.flatMap(({ path, text }) =>
      [...text.matchAll(/(?<![\w#-])[GIRKATP][1-9](?![\w-])/g)]
        .map(([name]) => name)
        .filter((name) => !sectionOf.has(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test("every defined invariant is cited by a test", () => {
    const cited = citing
      .filter(({ path }) => path.endsWith(".test.ts"))
      .map(({ text }) => text)
      .join("\n");
    const isCited = (name: string) =>
      new RegExp(`(?<!\\w)${name}(?!\\w)`).test(cited) || rangesIn(cited).some((range) => range.includes(name));
    expect([...sectionOf.keys()].filter((name) => !isCited(name))).toEqual([]);
  });

  test("every cited section exists, and defines what is cited of it", () => {
    const wrong = citing.flatMap(({ path, text }) =>
      [...text.matchAll(/protocols(?:\.md)? §(\d)(?:,? \(?([GIRKATP]\d)\)?)?/g)]
        .filter(
          ([, section, name]) => !sections.has(section!) || (name !== undefined && sectionOf.get(name) !== section),
        )
        .map(([citation]) => `${path}: ${citation}`),
    );
    expect(wrong).toEqual([]);
  });
});

/** "R1–R6" as its members. */
function rangesIn(text: string): string[][] {
  return [...text.matchAll(/([GIRKATP])(\d)–\1(\d)/g)].map(([, letter, from, to]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${letter}${Number(from) + index}`),
  );
}
