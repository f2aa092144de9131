import { dirname, join } from "node:path/posix";
import { expect, test } from "vitest";
import { proseOf, readRepositoryFile, repositoryFiles } from "../../scripts/reference/repository-files.ts";

/** File names in comments and pages: each must be that of an existing file. */
const files = repositoryFiles();
const directories = new Set(files.flatMap((path) => ancestors(path)));

function ancestors(path: string): string[] {
  const parent = dirname(path);
  return parent === "." ? [] : [parent, ...ancestors(parent)];
}

const prose = files
  .filter((path) => /\.(tsx?|mjs|md|sql|toml)$/.test(path))
  .map((path) => ({ path, text: proseOf(path) }));

/** Files that are created by a command, belong to another repository, or are examples. */
const foreign = new Set([
  "openapi.json",
  "run.json",
  "ci.jwk.json",
  "contexts.json",
  "summary.json",
  "kebab-case.ts",
  // Exports of other products.
  "realm.json",
  "users.json",
  "kc.sh",
  // An operator's environment, and the files that npm run deploy generates from it.
  "deployments/production.ts",
  "deployments/production.json",
  "deployments/.generated/production/op-token.json",
  "deployments/.generated/production/op-state.json",
  // Files of the OpenID conformance suite.
  "scripts/requirements.txt",
  "scripts/run-test-plan.py",
]);

/** Whether `name` is a file's path from the root or from the directory of `from`, or the end of any path. */
function exists(name: string, from: string): boolean {
  const candidates = [name, join(dirname(from), name)].map((path) => path.replace(/^\.\//, ""));
  return (
    candidates.some((path) => files.includes(path) || directories.has(path)) ||
    files.some((path) => path.endsWith(`/${name}`)) ||
    foreign.has(name)
  );
}

test("every file named in a comment or page exists", () => {
  const dangling = prose.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w@/.*{}…$:-])(?:\.\.?\/)*[\w-][\w./-]*\.(?:tsx?|mjs|md|sql|toml|json|sh)(?![\w/*(-])/g)]
      .map(([name]) => name)
      .filter((name) => !exists(name, path))
      .map((name) => `${path}: ${name}`),
  );
  expect(dangling).toEqual([]);
});

test("every path below the repository's folders named in a comment or page exists", () => {
  const dangling = prose.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w@/.-])(?:packages|docs|migrations|scripts|test|load-tests)\/[\w./-]*/g)]
      .filter(({ 0: name, index }) => !/[*{<…]/.test(text[index + name.length] ?? ""))
      .map(([name]) => name.replace(/[./]+$/, ""))
      .filter((name) => !exists(name, path))
      .map((name) => `${path}: ${name}`),
  );
  expect(dangling).toEqual([]);
});

test("every link of a page leads to an existing file and heading", () => {
  const broken = prose
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
        .filter(([, file, anchor]) => {
          const target = file === "" ? path : join(dirname(path), file!).replace(/\/$/, "");
          if (!files.includes(target) && !directories.has(target)) return true;
          return anchor !== undefined && !anchorsOf(target).includes(anchor);
        })
        .map(([link]) => `${path}: ${link}`),
    );
  expect(broken).toEqual([]);
});

/** Pages of docs/, but for the two indexes; pages of decisions begin with their number. */
const pages = files.filter((path) => /^docs\/.*(?<!README)\.md$/.test(path));
const isDecision = (path: string) => path.startsWith("docs/adr/");

test.each([
  ["docs/README.md", pages.filter((path) => !isDecision(path))],
  ["docs/adr/README.md", pages.filter(isDecision)],
])("%s has one line for each page", (index, expected) => {
  const listed = [...readRepositoryFile(index).matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)]
    .map(([, link]) => join(dirname(index), link!))
    .filter((path) => pages.includes(path));
  expect(listed.sort()).toEqual(expected.sort());
});

test("every decision that a comment, a page or a test cites is there", () => {
  const numbers = new Set(pages.filter(isDecision).map((path) => Number(/\d+/.exec(path)?.[0])));
  const unknown = prose.flatMap(({ path, text }) =>
    [...text.matchAll(/\bADRs?\s(?:\* )?(\d+(?:, \d+)*)/g)]
      .filter(([, cited]) => cited!.split(", ").some((number) => !numbers.has(Number(number))))
      .map(([citation]) => `${path}: ${citation}`),
  );
  expect(unknown).toEqual([]);
});

/** The anchors that GitHub gives to headings. */
function anchorsOf(path: string): string[] {
  return [...readRepositoryFile(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/ /g, "-"),
  );
}
