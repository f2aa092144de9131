import { staleFiles } from "./reference/generated-files.ts";
import { readRepositoryFile, repositoryFiles } from "./reference/repository-files.ts";
import { commandStep, type Step } from "./steps.ts";

/**
 * **The checks of the sources in `npm run check` and `npm test`**: types and the lint that needs them, generated files, format and lint, and unused
 * exports. oxlint checks each file by the nearest `tsconfig.json`, once, with the compiler that `tsc` is: a run of `tsc` for each project reads the
 * library again in each, and takes three times as long.
 */
export function checkSteps(): Step[] {
  return [
    commandStep("types, and lint with types", "oxlint", ["--type-aware", "--type-check", "--deny-warnings", "."]),
    generatedFilesStep(),
    lineLengthStep(),
    commandStep("format and lint", "biome", ["check", "--colors=off", "--diagnostic-level=warn", "."]),
    commandStep("unused files and exports", "knip", ["--no-progress"]),
  ];
}

/** Compares the wrangler files and the pages of `docs/reference/` with their sources. */
function generatedFilesStep(): Step {
  return {
    name: "generated files are current",
    run: (print) => {
      const stale = staleFiles();
      for (const path of stale) print(`${path} differs from its source: npm run check -- --write`);
      return Promise.resolve(stale.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    },
  };
}

const mostCharacters = 150;

/** A line of a comment or page that is too long. Tables, headings, HTML, code blocks and lines with a long link are exempt. */
function lineLengthStep(): Step {
  const isTooLong = (line: string) => line.length > mostCharacters && !/\S{100}/.test(line);
  const linesOf = (path: string): string[] => {
    const text = readRepositoryFile(path);
    if (!path.endsWith(".md")) return text.split("\n").filter((line) => /^\s*(?:\/\/ |\/?\*)/.test(line));
    const prose = text.replace(/^\s*```[\s\S]*?^\s*```/gm, "");
    return prose.split("\n").filter((line) => !/^\s*[|#<]/.test(line));
  };
  return {
    name: `pages and comments have lines of at most ${mostCharacters} characters`,
    run: (print) => {
      const long = repositoryFiles()
        .filter(
          (path) => /\.(?:md|tsx?|mjs)$/.test(path) && !/^CHANGELOG|^load-tests\/reports|\/frameworks\.ts$/.test(path),
        )
        .flatMap((path) =>
          linesOf(path)
            .filter(isTooLong)
            .map((line) => `${path}: ${line.trim().slice(0, 80)} …`),
        );
      for (const line of long) print(line);
      return Promise.resolve(long.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });
    },
  };
}
