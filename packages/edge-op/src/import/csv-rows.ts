import { parse } from "csv-parse/sync";
import type { Piece } from "./source-files.ts";
import { textOfBytes } from "./source-files.ts";

export interface CsvForm {
  /** Columns without which no user is known: one name of each list is required. */
  readonly required: readonly (readonly string[])[];
  /** The columns of a file without a header. */
  readonly columns?: readonly string[];
}

export interface CsvRow {
  readonly line: number;
  readonly text: string;
  readonly row?: Readonly<Record<string, string>>;
  readonly fault?: string;
}

/** A value may have line ends: an address. */
const mostLines = 50;
const delimiters = [",", ";", "\t"];

/**
 * **The rows of a file of CSV** (RFC 4180), with commas, semicolons or tabs. A row is the fewest lines that parse and have the columns of the header;
 * if there is none, its first line is refused, and the next row begins with the second. A header that lacks a column is refused once, with the whole
 * file.
 */
export async function* readCsvRows(lines: AsyncIterable<Piece>, form: CsvForm): AsyncGenerator<CsvRow> {
  const source = new Lookahead(lines);
  let columns = form.columns;
  let delimiter: string | undefined;
  for (;;) {
    const first = await source.at(0);
    if (first === undefined) return;
    const text = first.fault === undefined ? textOfBytes(first.bytes) : undefined;
    if (text === undefined) {
      source.drop(1);
      yield { line: first.line, text: "", fault: first.fault ?? "is no UTF-8" };
      continue;
    }
    if (text.trim() === "") {
      source.drop(1);
      continue;
    }
    delimiter ??= delimiterOf(text);
    if (columns === undefined) {
      source.drop(1);
      const cells = parseRow(text, delimiter);
      columns = Array.isArray(cells) ? cells.map((cell) => cell.trim()) : [];
      const lacking = form.required.filter((names) => !names.some((name) => columns!.includes(name)));
      if (lacking.length === 0) continue;
      const names = lacking.map((each) => each.join(" or ")).join(", ");
      yield {
        line: first.line,
        text,
        fault: `The header lacks ${names}; it has ${columns.join(", ")}. No row is read.`,
      };
      return;
    }
    const { taken, cells } = await takeRow(source, { text, delimiter, columns });
    source.drop(taken);
    if (typeof cells === "string") yield { line: first.line, text, fault: cells };
    else {
      const row = Object.fromEntries(columns.map((column, index) => [column, cells[index]!]));
      yield { line: first.line, text, row };
    }
  }
}

interface Begun {
  readonly text: string;
  readonly delimiter: string;
  readonly columns: readonly string[];
}

async function takeRow(
  source: Lookahead,
  { text: first, delimiter, columns }: Begun,
): Promise<{ readonly taken: number; readonly cells: readonly string[] | string }> {
  let text = first;
  let fault: string | undefined;
  for (let taken = 1; taken <= mostLines; taken += 1) {
    // Only with an even number of quotes is each of them closed.
    if ((text.split('"').length & 1) === 1) {
      const cells = parseRow(text, delimiter);
      if (Array.isArray(cells)) {
        const extra = cells.slice(columns.length);
        if (cells.length >= columns.length && extra.every((cell) => cell === "")) return { taken, cells };
        fault ??= `has ${cells.length} columns, and the header has ${columns.length}`;
      } else fault ??= String(cells);
      if (taken === 1) break;
    }
    const next = await source.at(taken);
    const more = next === undefined || next.fault !== undefined ? undefined : textOfBytes(next.bytes);
    if (more === undefined) break;
    text += `\n${more}`;
  }
  return { taken: 1, cells: fault ?? "has a quote that is not closed" };
}

/** The cells, or why there are none. */
function parseRow(text: string, delimiter: string): readonly string[] | string {
  try {
    const [cells] = parse(text, { delimiter, relax_column_count: true, record_delimiter: ["\u0000"] });
    return cells ?? [];
  } catch {
    // The error has the value.
    return "has a quote inside of a value";
  }
}

/** The one of which the first line has most, outside of quotes. */
function delimiterOf(text: string): string {
  const bare = text.replaceAll(/"[^"]*"/g, "");
  const counts = delimiters.map((delimiter) => bare.split(delimiter).length);
  return delimiters[counts.indexOf(Math.max(...counts))]!;
}

class Lookahead {
  readonly #lines: AsyncIterator<Piece>;
  readonly #read: Piece[] = [];

  constructor(lines: AsyncIterable<Piece>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async at(index: number): Promise<Piece | undefined> {
    while (this.#read.length <= index) {
      const next = await this.#lines.next();
      if (next.done === true) return undefined;
      this.#read.push(next.value);
    }
    return this.#read[index];
  }

  drop(count: number): void {
    this.#read.splice(0, count);
  }
}
