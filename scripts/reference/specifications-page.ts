import { generatedNotice, table } from "./markdown.ts";
import { readRepositoryFile, repositoryFiles } from "./repository-files.ts";
import { type Citation, citationsIn, type Specification } from "./specifications.ts";
import { type NamedTest, placeholders, testsIn } from "./tests-in.ts";

interface Row {
  readonly specification: Specification;
  readonly clause: string;
  readonly test: string;
  readonly path: string;
}

/** **`docs/reference/specifications.md`**: the tests of each clause, generated from the tests' names. */
export function specificationsPage(): string {
  const rows = repositoryFiles()
    .filter((path) => /\.test\.tsx?$/.test(path))
    .flatMap((path) => testsIn(readRepositoryFile(path)).flatMap((test) => rowsOf(test, path)));
  const bySpecification = Map.groupBy(rows, ({ specification }) => specification.title);
  const titles = [...bySpecification.keys()].toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const sections = titles.map((title) => section(bySpecification.get(title)!));
  return `# Specifications

${generatedNotice("the names of the tests")}

Tests are named for the clause that they show and the claim that they make of it (\`RFC 6749 §5.2: …\`). This page lists them by clause. A test that cites several clauses is listed
under each. A test that runs with each row of a table is listed once, with "…" for what the rows fill in, and the rows after its name. A clause that is not listed has no test that names it; discovery says what is supported ([endpoints](endpoints.md)).

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
    specification === undefined
      ? []
      : [{ specification, clause: clause ?? "", test: withRows(claimOf(name), rows), path }],
  );
}

const mostRows = 12;

function withRows(claim: string, rows: readonly string[] = []): string {
  const text = claim.replace(placeholders, "…");
  if (rows.length === 0) return text;
  const more = rows.length > mostRows ? [`and ${rows.length - mostRows} more`] : [];
  return `${text} (${[...rows.slice(0, mostRows), ...more].join("; ")})`;
}

/** The name without the citations before its colon, under which the row is listed. */
function claimOf(name: string): string {
  const [head, ...rest] = name.split(": ");
  return rest.length > 0 && citationsIn(head!).length > 0 && head!.length < 60 ? rest.join(": ") : name;
}

function section(rows: readonly Row[]): string {
  const { title, url } = rows[0]!.specification;
  const sorted = rows.toSorted(
    (a, b) => compareClauses(a.clause, b.clause) || a.path.localeCompare(b.path) || a.test.localeCompare(b.test),
  );
  const cells = sorted.map(({ clause, test, path }, index) => [
    clause === sorted[index - 1]?.clause ? "" : clause || "as a whole",
    asText(test),
    `[${path.split("/").at(-1)}](../../${path})`,
  ]);
  return `## [${title}](${url})\n\n${table(["Clause", "Test", "File"], cells)}`;
}

function compareClauses(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** Escapes the names of tests, which are text, not Markdown. */
function asText(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[<*_[\]`]/g, "\\$&");
}
