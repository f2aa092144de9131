/** A test or group of tests, by its name in the source; `%s` and `${…}` are kept. */
export interface NamedTest {
  readonly kind: "test" | "group";
  readonly name: string;
  /** Names of its groups, the innermost last. */
  readonly groups: readonly string[];
}

const calls = /^( *)(test|it|describe)((?:\.(?:each|for|skipIf|runIf|only|concurrent|sequential))*)\(/gm;

/**
 * **The tests of a file**, parsed from its text: the sources are formatted, so a call starts its line and ends with the next line that closes at the
 * same indentation.
 */
export function testsIn(text: string): NamedTest[] {
  const found: (NamedTest & { readonly endsAt: number })[] = [];
  for (const { index, 0: call, 1: indent, 2: kind, 3: modifiers } of text.matchAll(calls)) {
    const from = index + call.length;
    const name = nameAt(text, /each|for|skipIf|runIf/.test(modifiers!) ? endOfCall(text, from) : from);
    if (name === undefined) continue;
    const closing = new RegExp(`^${indent}[\\]})]+.*;$`, "m").exec(text.slice(from));
    const endsAt = closing === null ? text.length : from + closing.index;
    const groups = found.filter((other) => other.kind === "group" && other.endsAt > index).map((group) => group.name);
    found.push({ kind: kind === "describe" ? "group" : "test", name, groups, endsAt });
  }
  return found.map(({ kind, name, groups }) => ({ kind, name, groups }));
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
