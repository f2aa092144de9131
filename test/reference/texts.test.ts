import { globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { bundleModules, modulesAtStart } from "../../packages/edge-op/src/bundle-worker.ts";
import {
  findDeployedFaults,
  findTextFaults,
  type TextFile,
  withDeployedTexts,
} from "../../packages/edge-op/src/texts/deployed-texts.ts";
import { repositoryRoot, workers } from "../../packages/edge-op/src/workers.ts";
import { translatedLanguages } from "../../packages/shared/src/config/text-languages.ts";

const read = <Content>(path: string) => JSON.parse(readFileSync(join(repositoryRoot, path), "utf8")) as Content;

/** Folders with a file for each language. The console has two. */
const folders = globSync("packages/*/texts/**/en.json", { cwd: repositoryRoot }).map((path) =>
  path.slice(0, -"/en.json".length),
);
const tags = Object.keys(translatedLanguages).filter((tag) => tag !== "en");
const languagesOf = (folder: string) => (folder.includes("op-console") ? ["de"] : tags);
const files = folders.flatMap((folder) => languagesOf(folder).map((tag) => [folder, tag] as const));

/** Words that a language writes as English does; a text of placeholders alone is the same everywhere. */
const alike: Readonly<Record<string, readonly string[]>> = read("docs/adding/same-words.json");

/** What a text of a language never contains: marks of another language, and in French a blank at which a line breaks before a mark. */
const marks: Readonly<Record<string, RegExp>> = {
  de: /["'‘”«»]/,
  fr: /["'“”]|[^\u00a0][:;!?»]|«[^\u00a0]/,
  es: /["'“”]|^[^¿]*\?/,
  it: /["'«»]/,
  "pt-BR": /["'«»]/,
  nl: /["'“”«»]/,
  pl: /["'‘“«»]/,
  tr: /["'«»]/,
  uk: /["'“”]/,
  ja: /["'“”]|[\p{sc=Hira}\p{sc=Kana}\p{sc=Han}][,.:;?!]|[ ][、。：？」]/u,
  ko: /["'「」、。]/,
  "zh-Hans": /["'「」]|\p{sc=Han}[,.:;?!]|[ ][，。：？]/u,
  ar: /["'“”,;?]/,
};

/** A control's name for who does not see it, and its text. */
const labels = [
  ["account.changeName", "account.change"],
  ["password.show", "password.showShort"],
] as const;

test("each language has its files, and no file is of a language that is not listed", () => {
  expect(folders.length).toBe(4);
  for (const folder of folders) {
    const found = globSync("*.json", { cwd: join(repositoryRoot, folder) }).map((name) =>
      name.slice(0, -".json".length),
    );
    expect(found.toSorted(), folder).toEqual(["en", ...languagesOf(folder)].toSorted());
  }
});

test("no key is in two files: a deployment names a text by its key alone", () => {
  const keys = folders.flatMap((folder) => Object.keys(read<TextFile>(`${folder}/en.json`)));
  expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
});

describe.each(files)("%s, %s", (folder, tag) => {
  const english = read<TextFile>(`${folder}/en.json`);
  const texts = read<TextFile>(`${folder}/${tag}.json`);

  it("has the keys of English in the same order, and keeps the rules", () => {
    expect(Object.keys(texts)).toEqual(Object.keys(english));
    expect(findTextFaults(tag, english, texts)).toEqual([]);
  });

  it("has the marks of its language", () => {
    const wrong = Object.entries(texts).filter(([, text]) =>
      marks[tag]?.test(text.replaceAll(/\{\w+(, plural,)?/g, "x")),
    );
    expect(wrong).toEqual([]);
  });

  it("WCAG 2.2 §2.5.3: the name of a control contains what is seen of it", () => {
    const seen = labels.filter(([name]) => texts[name] !== undefined);
    for (const [name, visible] of seen) expect(texts[name]!.toLowerCase()).toContain(texts[visible]!.toLowerCase());
  });

  it("is translated", () => {
    const words = (text: string) => text.replaceAll(/\{\w+\}/g, "").replaceAll(/[^\p{L}]/gu, "") !== "";
    const same = Object.entries(texts).filter(([key, text]) => text === english[key] && words(text));
    const isListed = (text: string) => alike[tag]?.includes(text) === true || folder.includes("op-console");
    expect(same.filter(([, text]) => !isListed(text))).toEqual([]);
  });

  const people = folder.includes("op-console") ? [] : [folder];
  it.each(people)("%s says what the glossary says", () => {
    const glossary = read<Readonly<Record<string, TextFile>>>("docs/adding/glossary.json");
    const wrong = Object.entries(glossary).flatMap(([term, { [tag]: stems }]) =>
      stems === undefined
        ? [`${term} has no word`]
        : Object.entries(english)
            .filter(([, text]) => new RegExp(`\\b${term}`, "i").test(text.replaceAll(/\{\w+\}/g, "")))
            .filter(([key]) => !patternOf(stems).test(texts[key]!.replaceAll("\u00ad", "")))
            .map(([key]) => `${key}: ${term} is ${stems}`),
    );
    expect(wrong).toEqual([]);
  });
});

/** `*` stands for letters, or for words between blanks. */
function patternOf(stems: string): RegExp {
  return new RegExp(stems.replaceAll(" * ", " .* ").replaceAll(/(?<=\S)\*/g, "\\p{L}*"), "iu");
}

describe("the rules", () => {
  const english = {
    greeting: "Hello {name}",
    days: "{count, plural, one {# day} other {# days}}",
    "signIn.title": "In",
  };
  it.each<[string, string, Record<string, string>, string]>([
    ["an unknown key, with what is meant", "de", { "signIn.titel": "x" }, "did you mean signIn.title?"],
    ["a placeholder that is missing", "de", { greeting: "Hallo" }, "must contain {name}"],
    ["a placeholder that English lacks", "de", { "signIn.title": "{name}" }, "must contain no {name}"],
    ["a form that Polish has", "pl", { days: "{count, plural, one {# d} few {# d} other {# d}}" }, "form many"],
    ["a form that Japanese lacks", "ja", { days: "{count, plural, one {#} other {#}}" }, "which ja does not have"],
    ["no forms", "uk", { days: "{count} d" }, "needs plural forms"],
    ["braces that nothing reads", "de", { greeting: "{name} {" }, "has braces"],
    ["markup", "de", { greeting: "<b>{name}</b>" }, "contains markup"],
    ["a reference of HTML", "de", { greeting: "{name}&nbsp;" }, "contains markup"],
    ["a blank at the end", "de", { greeting: "Hallo {name} " }, "begins or ends with a blank"],
    ["nothing", "de", { "signIn.title": "" }, "is empty"],
    ["a text for which there is no room", "de", { "signIn.title": "x".repeat(60) }, "twice as long"],
  ])("refuse %s", (_, language, texts, fault) => {
    expect(findTextFaults(language, english, texts).join("\n")).toContain(fault);
  });

  it("accept what a language needs", () => {
    const days = "{count, plural, zero {#} one {#} two {#} few {#} many {#} other {#}}";
    expect(findTextFaults("ar", english, { days, greeting: "{name}!" })).toEqual([]);
    expect(findTextFaults("ja", english, { days: "{count}日" })).toEqual([]);
    expect(findTextFaults("fr", english, { days: "{count, plural, one {# jour} other {# jours}}" })).toEqual([]);
  });
});

test.each(workers)("$name is uploaded with the texts that it loads, and no others", async ({ name, entry }) => {
  const modules = await bundleModules(entry, { sourcemap: false });
  const start = modulesAtStart(modules);
  const loaded = modules.filter((module) => !start.includes(module));
  const uploaded = folders.filter((folder) => {
    const [key = ""] = Object.keys(read<TextFile>(`${folder}/en.json`));
    return loaded.filter(({ contents }) => contents.includes(`"${key}":`)).length >= languagesOf(folder).length;
  });
  const of: Readonly<Record<string, readonly string[]>> = {
    // Previews of mails are pages.
    "op-auth": ["packages/op-auth/texts", "packages/pages/texts/layout", "packages/pages/texts/mail"],
    "op-console": ["packages/op-console/texts", "packages/pages/texts/layout"],
    "op-state": ["packages/pages/texts/mail"],
  };
  expect(uploaded.toSorted()).toEqual(of[name] ?? []);
});

describe("deployments/texts", () => {
  const deployments = mkdtempSync(join(tmpdir(), "edge-op-texts-"));
  mkdirSync(join(deployments, "texts"));
  const write = (name: string, content: string) => writeFileSync(join(deployments, "texts", name), content);

  it("replaces texts and adds a language, in modules that no start evaluates", async () => {
    write("de.json", JSON.stringify({ "signIn.title": "Willkommen bei Acme" }));
    write("sv.json", JSON.stringify({ "signIn.title": "Logga in hos Acme" }));
    expect(findDeployedFaults(deployments)).toEqual([]);
    const plugins = [withDeployedTexts(deployments)];
    const modules = await bundleModules(workers.find(({ name }) => name === "op-auth")!.entry, {
      sourcemap: false,
      plugins,
    });
    const start = modulesAtStart(modules);
    const holds = (among: typeof modules, text: string) => among.some(({ contents }) => contents.includes(text));
    for (const text of ["Willkommen bei Acme", "Logga in hos Acme"]) {
      expect([holds(modules, text), holds(start, text)]).toEqual([true, false]);
    }
    expect(holds(start, '"Svenska"')).toBe(true);
  });

  it("refuses what breaks the rules, by file and key", () => {
    write("de.json", JSON.stringify({ "signIn.titel": "Willkommen" }));
    write("sv.json", "{");
    write("not_a_tag.json", "{}");
    const faults = findDeployedFaults(deployments).join("\n");
    expect(faults).toMatch(/de\.json: signIn\.titel: .*did you mean signIn\.title\?/);
    expect(faults).toMatch(/sv\.json: .*JSON/);
    expect(faults).toMatch(/not_a_tag is not the tag of a language/);
  });
});
