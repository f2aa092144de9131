import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { usageFailure } from "../console/failure.ts";

/** The file, or the JSON files of a folder, in the order of their names. */
export function sourceFiles(path: string): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw usageFailure(`${path} cannot be read: there is no such file.`);
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(json|ndjson|jsonl)$/.test(name));
  return names.toSorted().map((name) => join(path, name));
}

/** A whole file of JSON, 512 MB at most. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (error) {
    throw usageFailure(`${path} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The values of a file with one in each line. Memory is that of one line. */
export async function* readJsonLines(path: string): AsyncGenerator<unknown> {
  for (const file of sourceFiles(path)) {
    let number = 0;
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (text.trim() === "") continue;
      try {
        yield JSON.parse(text) as unknown;
      } catch {
        throw usageFailure(`${file}:${number} is no JSON.`);
      }
    }
  }
}
