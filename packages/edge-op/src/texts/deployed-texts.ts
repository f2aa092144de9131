import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plugin } from "esbuild";
import { translatedLanguages } from "../../../shared/src/config/text-languages.ts";
import { repositoryRoot } from "../workers.ts";
import { findTextFaults, type TextFile } from "./find-text-faults.ts";

/** The folder below that of the deployments. */
export const textsFolder = "texts";

/**
 * **Texts of a deployment's own**: `texts/<tag>.json` beside the files of its environments, with any keys of the English texts. They
 * replace texts of a language, or add a language, whose other texts are English. Returns every fault of the files.
 */
export function findDeployedFaults(deployments: string): string[] {
  const english = Object.assign(
    {},
    ...globSync("packages/{pages,op-auth,op-console}/texts/**/en.json", { cwd: repositoryRoot }).map(readTexts),
  ) as TextFile;
  return listTags(deployments).flatMap((tag) => {
    const path = join(deployments, textsFolder, `${tag}.json`);
    if (!isTag(tag)) return [`${path}: ${tag} is not the tag of a language, such as pt-BR`];
    try {
      return findTextFaults(tag, english, readTexts(path)).map((fault) => `${path}: ${fault}`);
    } catch (error) {
      return [`${path}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}

/** Merges the texts of the deployment into a build: they are modules that are loaded on first use, as the others are. */
export function withDeployedTexts(deployments: string): Plugin {
  const tags = listTags(deployments);
  return {
    name: "texts of the deployment",
    setup: (build) => {
      if (tags.length === 0) return;
      build.onLoad({ filter: /shared\/src\/config\/deployed-texts\.ts$/ }, () => ({
        contents: moduleOf(deployments, tags),
        loader: "ts",
        resolveDir: repositoryRoot,
      }));
    },
  };
}

function moduleOf(deployments: string, tags: readonly string[]): string {
  const loads = tags.map((tag) => {
    const path = JSON.stringify(join(deployments, textsFolder, `${tag}.json`));
    return `${JSON.stringify(tag)}: () => import(${path}, { with: { type: "json" } })`;
  });
  const added = tags.filter((tag) => !Object.hasOwn(translatedLanguages, tag)).map((tag) => [tag, describe(tag)]);
  return `export const deployedTexts = { ${loads.join(", ")} };
export const deployedLanguages = ${JSON.stringify(Object.fromEntries(added))};`;
}

/** The name of a language in itself, with a capital as in a list. */
function describe(tag: string): { readonly name: string; readonly direction: "ltr" | "rtl" } {
  const name = new Intl.DisplayNames([tag], { type: "language", languageDisplay: "standard" }).of(tag) ?? tag;
  const { script = "" } = new Intl.Locale(tag).maximize();
  const direction = ["Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm"].includes(script) ? "rtl" : "ltr";
  return { name: name.charAt(0).toLocaleUpperCase(tag) + name.slice(1), direction };
}

function listTags(deployments: string): string[] {
  const folder = join(deployments, textsFolder);
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.map((name) => basename(name, ".json")).sort();
}

function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag)[0] === tag;
  } catch {
    return false;
  }
}

function readTexts(path: string): TextFile {
  return JSON.parse(readFileSync(join(path.startsWith("/") ? "" : repositoryRoot, path), "utf8")) as TextFile;
}
