/** A test or group of tests, by its name in the source; `%s` and `${…}` are kept. */
export interface NamedTest {
  readonly kind: "test" | "group";
  readonly name: string;
  /** Names of its groups, the innermost last. */
  readonly groups: readonly string[];
  /** The rows of the table of cases; 1 without a table, or with one that is declared elsewhere. */
  readonly rows: number;
}

const calls = /^( *)(test|it|describe)((?:\.(?:each|for|skipIf|runIf|only|concurrent|sequential))*)(?:<.*>)?\(/gm;

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
    const rows = /each|for/.test(modifiers!) ? Math.max(1, countElements(text.slice(from, nameFrom - 1))) : 1;
    const closing = new RegExp(`^${indent}[\\]})]+.*;$`, "m").exec(text.slice(from));
    const endsAt = closing === null ? text.length : from + closing.index;
    const groups = found.filter((other) => other.kind === "group" && other.endsAt > index).map((group) => group.name);
    found.push({
      kind: kind === "describe" ? "group" : "test",
      name,
      groups,
      rows,
      endsAt,
    });
  }
  return found.map(({ endsAt: _, ...each }) => each);
}

/** The number of elements of an array literal; 0 of anything else. */
function countElements(text: string): number {
  const array = text.trim();
  if (!array.startsWith("[")) return 0;
  let count = 0;
  let depth = 0;
  let isEmpty = true;
  for (let at = 0; at < array.length; at += 1) {
    if (array.startsWith("//", at)) at = array.indexOf("\n", at);
    else if (array.startsWith("/*", at)) at = array.indexOf("*/", at) + 1;
    else if (/["'`]/.test(array[at]!)) at = endOfString(array, at);
    else if (/[[({]/.test(array[at]!)) depth += 1;
    else if (/[\])}]/.test(array[at]!)) depth -= 1;
    const endsElement = (depth === 1 && array[at] === ",") || depth === 0;
    if (endsElement && !isEmpty) count += 1;
    if (depth === 0) break;
    isEmpty = endsElement || (isEmpty && (at === 0 || /\s|\/$/.test(array[at]!)));
  }
  return count;
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
