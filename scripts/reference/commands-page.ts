import { allCommands } from "../../packages/edge-op/src/commands/all-commands.ts";
import type { Command } from "../../packages/edge-op/src/console/command.ts";
import { adminApiDocument } from "./admin-api-document.ts";
import { generatedNotice, table } from "./markdown.ts";

/** **`docs/reference/commands.md`**, generated from the declarations of the commands and the OpenAPI document of the admin API. */
export function commandsPage(): string {
  const commands = allCommands(adminApiDocument());
  const topics = [...new Set(commands.map(({ words }) => words[0]!))];
  return `# Commands

${generatedNotice("the commands of `edge-op` (`packages/edge-op/src/commands/`) and the operations of the admin API")}

\`edge-op <command> --help\` lists the options of each. [The command line](../operating/command-line.md) explains sign-in, output and exit codes.

${topics
  .map((topic) =>
    section(
      topic,
      commands.filter(({ words }) => words[0] === topic),
    ),
  )
  .join("\n\n")}
`;
}

function section(topic: string, commands: readonly Command[]): string {
  const rows = commands.map(({ words, arguments: named = [], summary, examples }) => {
    const places = named.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`));
    return [`\`${[...words, ...places].join(" ")}\``, summary, `\`${examples[0]}\``];
  });
  return `## \`${topic}\`\n\n${table(["Command", "Meaning", "Example"], rows)}`;
}
