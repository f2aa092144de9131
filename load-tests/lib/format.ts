/** **Markdown tables and numbers** of reports and pages. */

export const milliseconds = (value: number | undefined) =>
  value === undefined ? "" : value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
export const percent = (value: number) => `${value > 0 ? "+" : ""}${Math.round(value * 100)} %`;
export const count = (value: number) => Math.round(value).toLocaleString("en-US");

export function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(" | ")} |`;
}

export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [header, header.map(() => "---"), ...rows].map(rowOf).join("\n");
}
