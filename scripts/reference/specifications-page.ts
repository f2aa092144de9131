import { generatedNotice, table } from "./markdown.ts";
import { readRepositoryFile, repositoryFiles } from "./repository-files.ts";
import { type Citation, citationsIn, type Specification } from "./specifications.ts";
import { type NamedTest, testsIn } from "./tests-in.ts";

interface Row {
  readonly specification: Specification;
  readonly clause: string;
  /** The test, or each row of its table. */
  readonly tests: number;
  readonly path: string;
}

/** **`docs/reference/specifications.md`**: the number of tests of each clause, counted by the tests' names. A test that is lost changes it. */
export function specificationsPage(): string {
  const rows = repositoryFiles()
    .filter((path) => /\.test\.tsx?$/.test(path))
    .flatMap((path) => testsIn(readRepositoryFile(path)).flatMap((test) => rowsOf(test, path)));
  const bySpecification = Map.groupBy(rows, ({ specification }) => specification.title);
  const titles = [...bySpecification.keys()].toSorted(inOrder);
  const sections = titles.map((title) => section(bySpecification.get(title)!));
  return `# Specifications

${generatedNotice("the names of the tests")}

A test is named for the clause that it shows and its claim (\`RFC 6749 §5.2: …\`). This page counts the tests of each clause, with each row of a table
of cases, and links the file that has most of them. \`grep -rn "§5.2" packages test\` finds their names. A clause that is not listed has no test that
names it; discovery says what is supported ([endpoints](endpoints.md)).

${sections.join("\n\n")}
`;
}

/** The clauses that a test itself cites, or else those of the innermost group that cites any. */
function rowsOf({ kind, name, groups, rows }: NamedTest, path: string): Row[] {
  if (kind === "group") return [];
  const around = groups.map(citationsIn).filter((citations) => citations.length > 0);
  const own = citationsIn(name);
  const inherited = around.flat().findLast(({ specification }) => specification !== undefined)?.specification;
  const citations = own.length > 0 ? own : (around.at(-1) ?? []);
  return citations.flatMap(({ specification = inherited, clause }: Citation) =>
    specification === undefined ? [] : [{ specification, clause: clause ?? "", tests: rows, path }],
  );
}

function section(rows: readonly Row[]): string {
  const { title, url } = rows[0]!.specification;
  const byClause = Map.groupBy(rows, ({ clause }) => clause);
  const cells = [...byClause.keys()].toSorted(inOrder).map((clause) => {
    const tests = byClause.get(clause)!;
    const files = [...Map.groupBy(tests, ({ path }) => path)]
      .map(([path, inFile]) => ({ path, count: sum(inFile) }))
      .toSorted((a, b) => b.count - a.count || a.path.localeCompare(b.path));
    const { path } = files[0]!;
    const others = files.length === 1 ? "" : ` and ${files.length - 1} more`;
    return [clause || "as a whole", String(sum(tests)), `[${path.split("/").at(-1)}](../../${path})${others}`];
  });
  return `## [${title}](${url})\n\n${table(["Clause", "Tests", "File"], cells)}`;
}

function sum(rows: readonly Row[]): number {
  return rows.reduce((total, { tests }) => total + tests, 0);
}

function inOrder(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
