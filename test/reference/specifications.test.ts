import { expect, test } from "vitest";
import { proseOf } from "../../scripts/reference/repository-files.ts";
import { citationsIn } from "../../scripts/reference/specifications.ts";
import { testsIn } from "../../scripts/reference/tests-in.ts";

/** How docs/reference/specifications.md is generated from the tests. */
function cited(name: string): string[] {
  return citationsIn(name).map(({ specification, clause }) => `${specification?.title ?? ""} ${clause ?? ""}`.trim());
}

test.each([
  ["RFC 6749 §5.2: a wrong secret is challenged", ["RFC 6749 §5.2"]],
  ["RFC 6749 §4.1.2, RFC 9700 §4.7: a code", ["RFC 6749 §4.1.2", "RFC 9700 §4.7"]],
  ["RFC 9700 §4.16, §4.7: pages", ["RFC 9700 §4.16", "RFC 9700 §4.7"]],
  ["OIDC Core §11, §12 offline access", ["OpenID Connect Core 1.0 §11", "OpenID Connect Core 1.0 §12"]],
  ["RFC 7396 Appendix A: its examples", ["RFC 7396 Appendix A"]],
  ["Back-Channel Logout §2.7: grants", ["OpenID Connect Back-Channel Logout 1.0 §2.7"]],
  ["OpenID Connect Discovery 1.0, RFC 8414", ["OpenID Connect Discovery 1.0", "RFC 8414"]],
  ["nonce, OIDC Core §3.1.3.7: comes back", ["OpenID Connect Core 1.0 §3.1.3.7"]],
  ["RFC 6265bis §4.1.3: the prefix", ["RFC 6265bis (draft) §4.1.3"]],
  ["§2.1: in the header", ["§2.1"]],
  ["R1–R3: whatever is lost", ["R1", "R2", "R3"].map((name) => `This provider's protocols ${name}`)],
  ["§3 R2: a retry", ["This provider's protocols R2"]],
  ["a name without a clause", []],
])("%j cites %j", (name, expected) => {
  expect(cited(name)).toEqual(expected);
});

const source = `
/** A comment (with "quotes" and one (parenthesis). */
describe("RFC 7662 §2.2 response", () => {
  it.each([
    ["a", "("], // what isn't closed: (
    ["b", ')"'],
  ])("§2.2: %s is %s", () => {
    run();
  });

  test('says "yes"', () => {});
});

test(\`outside of any group\`, () => {});
`;

test("tests are found with their groups, whatever their tables contain", () => {
  expect(testsIn(source)).toEqual([
    { kind: "group", name: "RFC 7662 §2.2 response", groups: [], rows: 1 },
    { kind: "test", name: "§2.2: %s is %s", groups: ["RFC 7662 §2.2 response"], rows: 2 },
    { kind: "test", name: 'says "yes"', groups: ["RFC 7662 §2.2 response"], rows: 1 },
    { kind: "test", name: "outside of any group", groups: [], rows: 1 },
  ]);
});

test.each([
  ["texts", '["a", "b, c"]', 2],
  ["rows", '[\n  ["a", () => f(","), 1], // one, with a comma\n  /* none, */\n  ["b", g, 2],\n]', 2],
  ["members", '[{ name: "a", is: true }, { kind: "x", name: "b" }, {}]', 3],
  ["a table that is declared elsewhere", "Object.entries(table)", 1],
])("the rows of a table-driven test are counted: %s", (_, table, rows) => {
  expect(testsIn(`it.each<readonly [string, () => void]>(${table})("%s", () => {});\n`)).toEqual([
    { kind: "test", name: "%s", groups: [], rows },
  ]);
});

test("prose consists of comments and names of tests, not code", () => {
  const text = `const a = "*/*"; // see digest.ts\nfetch("https://example.com/digest.ts");\n/** errors.ts */\nimport "digest";\n`;
  expect(proseOf("x.ts", text)).toBe("// see digest.ts\n/** errors.ts */");
});
