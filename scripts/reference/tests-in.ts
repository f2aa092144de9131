/** A test or group of tests, by its name in the source; `%s` and `${…}` are kept. */
export interface NamedTest {
  readonly kind: "test" | "group";
  readonly name: string;
  /** Names of its groups, the innermost last. */
  readonly groups: readonly string[];
  /** Of a table-driven test or group: what each row puts in the place of `%s` or `$name`; none of a table that is not written beside it. */
  readonly rows?: readonly string[];
}

const calls = /^( *)(test|it|describe)((?:\.(?:each|for|skipIf|runIf|only|concurrent|sequential))*)(?:<.*>)?\(/gm;
/** What a row of a table fills. */
export const placeholders = /%[sdifjo]|\$[a-z]\w*/g;

/**
 * **The tests of a file**, parsed from its text: the sources are formatted, so a call starts its line and ends with the next line that closes at the
 * same indentation.
 */
export function testsIn(text: string): NamedTest[] {
  const found: (NamedTest & { readonly endsAt: number })[] = [];
  for (const { index, 0: call, 1: indent, 2: kind, 3: modifiers } of text.matchAll(calls)) {
    const from = index + call.length;
    const nameFrom = /each|for|skipIf|runIf/.test(modifiers!) ? endOfCall(text, from) : from;
    const name = nameAt(text, nameFrom);
    if (name === undefined) continue;
    const wanted = name.match(placeholders) ?? [];
    const rows = /each|for/.test(modifiers!) && wanted.length > 0 ? rowsOf(text.slice(from, nameFrom - 1), wanted) : [];
    const closing = new RegExp(`^${indent}[\\]})]+.*;$`, "m").exec(text.slice(from));
    const endsAt = closing === null ? text.length : from + closing.index;
    const groups = found.filter((other) => other.kind === "group" && other.endsAt > index).map((group) => group.name);
    found.push({
      kind: kind === "describe" ? "group" : "test",
      name,
      groups,
      ...(rows.length > 0 && { rows }),
      endsAt,
    });
  }
  return found.map(({ endsAt: _, ...each }) => each);
}

/** The values of a literal table that are texts or numbers; others are left out. */
function rowsOf(table: string, wanted: readonly string[]): string[] {
  return elementsOf(table)
    .map((row) => {
      const cells = elementsOf(row);
      const values = wanted.map((each, index) => {
        if (!each.startsWith("$")) return cells.length > 0 ? cells[index] : index === 0 ? row : undefined;
        const member = new RegExp(`[{,]\\s*${each.slice(1)}: *("(?:[^"\\\\]|\\\\.)*"|[\\d_]+)`).exec(row);
        return member?.[1];
      });
      return values.flatMap((value) => literalOf(value) ?? []).join(", ");
    })
    .filter((value) => value !== "");
}

function literalOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[\d_]+$/.test(text)) return text;
  const quote = /^["'`]/.exec(text)?.[0];
  if (quote === undefined || endOfString(text, 0) !== text.length - 1 || text.includes("${")) return undefined;
  return text.slice(1, -1).replace(/\\(["'`\\])/g, "$1");
}

/** The elements of an array literal, as they are written; none of anything else. */
function elementsOf(text: string): string[] {
  const array = text.trim();
  if (!array.startsWith("[")) return [];
  const elements: string[] = [];
  let depth = 0;
  let from = 1;
  for (let at = 0; at < array.length; at += 1) {
    if (array.startsWith("//", at)) at = array.indexOf("\n", at);
    else if (array.startsWith("/*", at)) at = array.indexOf("*/", at) + 1;
    else if (/["'`]/.test(array[at]!)) at = endOfString(array, at);
    else if (/[[({]/.test(array[at]!)) depth += 1;
    else if (/[\])}]/.test(array[at]!)) depth -= 1;
    if ((depth === 1 && array[at] === ",") || depth === 0) {
      elements.push(
        array
          .slice(from, at)
          .replace(/^(?:\s|\/\/.*\n|\/\*[\s\S]*?\*\/)+/, "")
          .trim(),
      );
      from = at + 1;
    }
    if (depth === 0) break;
  }
  return elements.filter((element) => element !== "");
}

function nameAt(text: string, from: number): string | undefined {
  const name = /^\s*\(?\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/.exec(text.slice(from));
  return name?.[2]?.replace(/\\(["'`])/g, "$1");
}

/** The position after the parenthesis that closes the call whose arguments start at `from`. */
function endOfCall(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text.startsWith("//", at)) at = text.indexOf("\n", at);
    else if (text.startsWith("/*", at)) at = text.indexOf("*/", at) + 1;
    else if (/["'`]/.test(text[at]!)) at = endOfString(text, at);
    else if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function endOfString(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === quote) return at;
  }
  return text.length;
}
