/**
 * **Results for people**: tables and lists of members. A text of the provider can come from anybody who registers or signs in, so control characters
 * are shown as escapes: a terminal would execute them.
 */

type Row = Readonly<Record<string, unknown>>;

/** Members that are times in seconds since the epoch (RFC 7519 §2, RFC 7591 §3.2.1). */
const timeMember = /(_at|_from|_until|^sign_from|^exp|^iat|^nbf|^auth_time)$/;

/** One value, on one line. */
export function showValue(value: unknown, member = ""): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number" && timeMember.test(member)) return value === 0 ? "never" : showTime(value);
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return printable(value.join(" "));
  return printable(JSON.stringify(value));
}

function showTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace(".000Z", "Z");
}

/** Escapes controls, line ends too, and the characters that reorder or hide text (Unicode TR36 §3.6), as JSON does (RFC 8259 §7). */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    // Two escapes for a character beyond the first plane.
    Array.from({ length: character.length }, (_, index) => escapeOf(character.charCodeAt(index))).join(""),
  );
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

/** Members and values, one in a line; members of objects by their paths. */
export function showMembers(record: Row, prefix = ""): string {
  const lines = flatten(record, prefix);
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join("");
}

function flatten(record: Row, prefix: string): [string, string][] {
  return Object.entries(record).flatMap(([name, value]): [string, string][] => {
    const path = printable(prefix + name);
    if (Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)) {
      return value.flatMap((item, index) => flatten({ [`${name}[${index}]`]: item as unknown }, prefix));
    }
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return flatten(value as Row, `${path}.`);
    return [[path, showValue(value, name)]];
  });
}

/** **A table that grows page by page**: the widths are those of the first rows, so that later ones are aligned as far as they fit. */
export class Table {
  readonly #columns: readonly string[];
  readonly #most: number | undefined;
  #widths: number[] | undefined;

  /** `width`: that of the screen; without one, no cell is cut. */
  constructor(columns: readonly string[], width: number | undefined) {
    this.#columns = columns;
    this.#most = width;
  }

  /** The lines of further rows, with the header first. */
  add(rows: readonly Row[]): string {
    const cells = rows.map((row) => this.#columns.map((column) => showValue(row[column], column) || "-"));
    const isFirst = this.#widths === undefined;
    if (isFirst) this.#widths = this.#measure(cells);
    const header = this.#columns.map((column) => column.toUpperCase().replaceAll("_", " "));
    return [...(isFirst ? [header] : []), ...cells].map((line) => `${this.#line(line)}\n`).join("");
  }

  #measure(cells: readonly (readonly string[])[]): number[] {
    const widths = this.#columns.map((column, index) =>
      Math.max(column.length, ...cells.map((row) => row[index]!.length)),
    );
    if (this.#most === undefined) return widths;
    // The widest column gives way until the line fits.
    const least = 12;
    while (widths.reduce((sum, width) => sum + width + 2, -2) > this.#most && Math.max(...widths) > least) {
      const widest = widths.indexOf(Math.max(...widths));
      widths[widest]! -= 1;
    }
    return widths;
  }

  #line(cells: readonly string[]): string {
    const last = cells.length - 1;
    return cells
      .map((cell, index) => {
        const width = this.#widths![index]!;
        const isCut = this.#most !== undefined && cell.length > width;
        const shown = isCut ? `${cell.slice(0, width - 1)}…` : cell;
        return index === last ? shown : shown.padEnd(width);
      })
      .join("  ");
  }
}
