import { filesOf, page, registrationOf } from "./clients-page.ts";

/**
 * **What the start page of the console knows of frameworks**: the products of docs/clients.md that have whole files, which tests execute, with their
 * registrations. The page and the console therefore cannot differ. A snippet without its values is no application that runs.
 */
export function frameworksFile(): string {
  const products = [...page.matchAll(/^\| \[([^\]]+)\]\(#[^)]+\) \|/gm)].map(([, name]) => name!);
  const frameworks = products
    .map((name) => ({ name, registration: JSON.parse(registrationOf(name)) as unknown, files: filesOf(name) }))
    .filter(({ files }) => Object.keys(files).length > 0);
  return `[\n${frameworks.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`;
}
