/** **Markdown of the generated pages**, in one format. */

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n");
}

export function generatedNotice(source: string): string {
  return `This page is generated from ${source}.\nDo not edit it: \`npm run check -- --write\` writes it again.`;
}
