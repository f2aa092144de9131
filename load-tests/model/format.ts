/** **Markdown tables and numbers** of the pages that the model writes. */
export const milliseconds = (value: number | undefined) =>
  value === undefined ? "" : value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
export const percent = (value: number) => `${value > 0 ? "+" : ""}${Math.round(value * 100)} %`;
export const count = (value: number) => Math.round(value).toLocaleString("en-US");

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
