import { Failure } from "../console/failure.ts";
import { type CsvForm, readCsvRows } from "./csv-rows.ts";
import { JsonPieces, type ListedPiece } from "./json-pieces.ts";
import { readBytes, sourceFiles, splitLines, textOfBytes } from "./source-files.ts";

/** How the files of a product can look. */
export interface SourceForm {
  /** The members of a JSON document that are lists of records. */
  readonly lists: readonly string[];
  /** Lists of the document itself, beside those of users, whose rows belong to users; elsewhere, a member of this name is the record's own. */
  readonly tables?: readonly string[];
  readonly csv?: CsvForm;
}

/** **A record of a file**: its value, or why there is none. */
export interface SourceRecord {
  readonly file: string;
  /** The line of the file at which it begins, from 1. */
  readonly line: number;
  /** The list that contains it, if that has a name. */
  readonly list?: string;
  readonly value?: unknown;
  readonly fault?: string;
  /** A name in a record that is no JSON, for the report. */
  readonly name?: string;
}

/**
 * **The records of a file or a folder, whatever bytes they have.** JSON in lines, as a list or as a document with lists, or CSV: the content decides,
 * not the name.
 */
export async function* readRecords(
  path: string,
  form: SourceForm,
  onRead?: (bytes: number) => void,
): AsyncGenerator<SourceRecord> {
  for (const file of sourceFiles(path)) {
    let line = 1;
    try {
      for await (const record of readFile(file, form, onRead)) {
        line = record.line;
        yield { file, ...record };
      }
    } catch (error) {
      if (error instanceof Failure) throw error;
      // A disk or gzip: what came before it has arrived.
      const reason = error instanceof Error ? error.message : String(error);
      yield { file, line, fault: `The file cannot be read from here on: ${reason}.` };
    }
  }
}

type FileRecord = Omit<SourceRecord, "file">;

async function* readFile(
  file: string,
  form: SourceForm,
  onRead: ((bytes: number) => void) | undefined,
): AsyncGenerator<FileRecord> {
  const { head, chunks } = await withHead(readBytes(file, onRead));
  const kind = kindOf(head, form);
  if (kind === "csv") {
    for await (const { line, text, row, fault } of readCsvRows(splitLines(chunks), form.csv!)) {
      yield fault === undefined ? { line, value: row } : { line, fault, ...nameIn(text) };
    }
  } else if (kind === "lines") {
    for await (const piece of splitLines(chunks)) {
      const isBlank = piece.fault === undefined && piece.bytes.every((byte) => byte === 32 || byte === 9);
      if (!isBlank) yield parsed(piece);
    }
  } else {
    const pieces = new JsonPieces(form.lists, form.tables);
    for await (const chunk of chunks) {
      for (const piece of pieces.read(chunk)) yield parsed(piece);
    }
    for (const piece of pieces.end()) yield parsed(piece);
  }
}

function parsed({ line, list, bytes, fault }: ListedPiece): FileRecord {
  const place = { line, ...(list === undefined ? {} : { list }) };
  const text = textOfBytes(bytes);
  if (fault !== undefined) return { ...place, fault, ...nameIn(text ?? "") };
  if (text === undefined) return { ...place, fault: "is no UTF-8" };
  try {
    return { ...place, value: JSON.parse(text) as unknown };
  } catch {
    return { ...place, fault: "is no JSON", ...nameIn(text) };
  }
}

/** A record that cannot be parsed has a name all the same. */
function nameIn(text: string): { readonly name?: string } {
  const names = /"(?:username|userName|user_id|email|sub|localId|id)"\s*:\s*"([^"\\\n]{1,100})"/;
  const name =
    names.exec(text.slice(0, 65_536))?.[1] ?? /[^\s"',;<>]{1,64}@[^\s"',;<>]{1,64}/.exec(text.slice(0, 4096))?.[0];
  return name === undefined ? {} : { name };
}

const headBytes = 65_536;

async function withHead(source: AsyncGenerator<Buffer>) {
  const read: Buffer[] = [];
  let size = 0;
  let failed: Error | undefined;
  while (size < headBytes) {
    const next = await source.next().catch((error: unknown) => {
      failed = error instanceof Error ? error : new Error(String(error));
      return { done: true } as const;
    });
    if (next.done === true) break;
    read.push(next.value);
    size += next.value.length;
  }
  async function* chunks() {
    try {
      yield* read;
      // What came before it is read first.
      if (failed !== undefined) throw failed;
      yield* source;
    } finally {
      await source.return(undefined);
    }
  }
  return { head: Buffer.concat(read).subarray(0, headBytes).toString("latin1").trimStart(), chunks: chunks() };
}

/** A document is a list, or an object that goes on in the next line or has one of the lists. */
function kindOf(head: string, { lists, csv }: SourceForm): "csv" | "lines" | "document" {
  if (head.startsWith("[")) return "document";
  if (!head.startsWith("{")) return csv === undefined ? "lines" : "csv";
  const [first = "", second = ""] = head.split(/[\r\n]+\s*/, 2);
  if (first.length === head.length && head.length > headBytes / 2) return "document";
  const hasList = lists.some((list) => new RegExp(`"${list}"\\s*:\\s*\\[`).test(first));
  const goesOn = first.trimEnd() === "{" || (/[,[{]\s*$/.test(first) && /^["\]}]/.test(second));
  return hasList || goesOn ? "document" : "lines";
}
