import { filesOf, page, registrationOf } from "./clients-page.ts";

/**
 * **What the start page of the console knows of frameworks**: the products of docs/clients.md that have whole files, which tests execute, with their
 * registrations. The page and the console therefore cannot differ. A snippet without its values is no application that runs.
 */
export function frameworksModule(): string {
  const products = [...page.matchAll(/^\| \[([^\]]+)\]\(#[^)]+\) \|/gm)].map(([, name]) => name!);
  const frameworks = products
    .map((name) => ({ name, registration: JSON.parse(registrationOf(name)) as unknown, files: filesOf(name) }))
    .filter(({ files }) => Object.keys(files).length > 0);
  const lines = frameworks.map((each) => `  ${JSON.stringify(each)},`);
  return [
    "// biome-ignore-all format: made from docs/clients.md by `npm run check -- --write`: change it there.",
    "// biome-ignore-all lint/suspicious/noTemplateCurlyInString: code of others, as text",
    "",
    "/** **The frameworks of the start page**, with the values of docs/clients.md in place of an application's own. */",
    "export const frameworks = [",
    ...lines,
    "] as const;",
    "",
  ].join("\n");
}
