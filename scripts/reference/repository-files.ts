import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/local-provider/src/workers.ts";

const leftOut = new Set(["node_modules", "dist", "test-output", "coverage"]);

/** **Every file of the repository that people write**, by its path from the root: nothing installed, built or hidden. */
export function repositoryFiles(directory = ""): string[] {
  return readdirSync(join(repositoryRoot, directory), { withFileTypes: true })
    .filter(({ name }) => !leftOut.has(name) && (!name.startsWith(".") || name === ".ci"))
    .flatMap((entry) => {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      return entry.isDirectory() ? repositoryFiles(path) : [path];
    });
}

export function readRepositoryFile(path: string): string {
  return readFileSync(join(repositoryRoot, path), "utf8");
}

/** What prose a file contains: all of a page, the comments of a source, the names of a test file's tests. */
export function proseOf(path: string, text = readRepositoryFile(path)): string {
  if (path.endsWith(".md")) return text;
  if (path.endsWith(".sql")) return [...text.matchAll(/--.*/g)].join("\n");
  if (path.endsWith(".toml")) return [...text.matchAll(/#.*/g)].join("\n");
  const comments = [...text.matchAll(/(?<![*"'`\w])\/\*\*?[\s\S]*?\*\/|(?<![:"'`\w])\/\/ .*/g)].map(
    ([comment]) => comment,
  );
  const names = /\.test\.tsx?$/.test(path) ? testNames(text) : [];
  return [...comments, ...names].join("\n");
}

/** The names of the tests and groups of a file, as they are written: `%s` and `${…}` stay. */
export function testNames(text: string): string[] {
  const calls = /(?:^|[^.\w])(?:test|it|describe)(?:\.(?:each|for|skipIf|runIf|only|concurrent|sequential))*\(/g;
  const names: string[] = [];
  for (const { index, 0: call } of text.matchAll(calls)) {
    let at = index + call.length;
    if (/\.(?:each|for|skipIf|runIf)\($/.test(call)) at = endOfCall(text, at);
    const name = /^\s*\(?\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/.exec(text.slice(at));
    if (name !== null) names.push(name[2]!.replace(/\\(["'`])/g, "$1"));
  }
  return names;
}

/** The position after the parenthesis that closes the call whose arguments begin at `from`. */
function endOfCall(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at]!;
    if (character === '"' || character === "'" || character === "`") at = endOfString(text, at);
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
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
