import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const usage = `edge-op init [folder]

  Writes a starter into an empty folder, by default this one: an application that signs its users in, an API that checks their
  tokens, and the configuration of the provider, its deployment and CI. No file is replaced.`;

/** npm packs no file of these names. */
const packedNames: Readonly<Record<string, string>> = { gitignore: ".gitignore", github: ".github" };

/** **`edge-op init`**: copies the starter of this package. */
export function runInitCommand(starter: string, args: readonly string[]): void {
  try {
    const options = { help: { type: "boolean", short: "h", default: false } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (values.help) {
      console.log(usage);
      return;
    }
    const [folder = ".", ...others] = positionals;
    if (others.length > 0) throw new Error(`Give one folder, not ${positionals.length}.`);
    console.log(describe(folder, copyStarter(starter, resolve(folder))));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exitCode = 2;
  }
}

function copyStarter(starter: string, folder: string): string[] {
  const sources = readdirSync(starter, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const files = sources.map((source) => {
    const [first = "", ...rest] = source.slice(starter.length + 1).split(/[\\/]/);
    return { source, path: join(packedNames[first] ?? first, ...rest) };
  });
  const taken = files.map(({ path }) => path).filter((path) => existsSync(join(folder, path)));
  if (taken.length > 0) throw new Error(`${folder} is not empty: ${taken.join(", ")}`);
  for (const { source, path } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(source, join(folder, path));
  }
  return files.map(({ path }) => path).toSorted();
}

function describe(folder: string, paths: readonly string[]): string {
  const enter = folder === "." ? "" : `  cd ${folder}\n`;
  return `Written: ${paths.join(", ")}

Next:
${enter}  npm install
  npm run provider
and, in two further terminals, npm run api and npm run app. README.md describes each file.`;
}
