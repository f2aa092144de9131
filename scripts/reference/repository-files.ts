import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import { testsIn } from "./tests-in.ts";

const leftOut = new Set(["node_modules", "dist", "test-output", "coverage"]);

/** **Every file of the repository that people write**, by its path from the root: no installed, built or hidden files. */
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

/** The prose of a file: an entire page, the comments of a source, the names of a test file's tests. */
export function proseOf(path: string, text = readRepositoryFile(path)): string {
  if (path.endsWith(".md")) return text;
  if (path.endsWith(".sql")) return [...text.matchAll(/--.*/g)].join("\n");
  if (path.endsWith(".toml")) return [...text.matchAll(/#.*/g)].join("\n");
  const comments = [...text.matchAll(/(?<![*"'`\w])\/\*\*?[\s\S]*?\*\/|(?<![:"'`\w])\/\/ .*/g)].map(
    ([comment]) => comment,
  );
  const names = /\.test\.tsx?$/.test(path) ? testsIn(text).map(({ name }) => name) : [];
  return [...comments, ...names].join("\n");
}
