import { createReadStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { usageFailure } from "../console/failure.ts";

const ofFolder = /\.(json|ndjson|jsonl|csv|tsv|txt)(\.gz)?$/i;

/** The file, or the files of a folder with JSON or CSV, in the order of their names. */
export function sourceFiles(path: string): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw usageFailure(`${path} cannot be read: there is no such file.`);
  if (!stat.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => ofFolder.test(name));
  if (names.length === 0) throw usageFailure(`${path} has no file whose name ends with .json, .jsonl or .csv.`);
  return names.toSorted().map((name) => join(path, name));
}

/**
 * **The bytes of a file as UTF-8**, without its byte order mark: gzip and UTF-16 are known by their first bytes. Bytes that are no UTF-8 stay as they
 * are, so that the line that has them is refused; half a character of UTF-16 becomes such a byte. Memory is that of one chunk.
 */
export async function* readBytes(path: string, onRead?: (bytes: number) => void): AsyncGenerator<Buffer> {
  const { first, rest } = await withFirst(counted(createReadStream(path), onRead));
  const isZipped = first[0] === 0x1f && first[1] === 0x8b;
  const plain = isZipped ? await withFirst(unzipped(rest)) : { first, rest };
  const encoding = encodingOf(plain.first);
  if (encoding === "utf-8") yield* withoutMark(plain.rest);
  else yield* fromUtf16(plain.rest, encoding);
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onRead: ((bytes: number) => void) | undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onRead?.(chunk.length);
    yield chunk;
  }
}

async function* unzipped(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const ready: Buffer[] = [];
  let failed: Error | undefined;
  gunzip.on("data", (part: Buffer) => ready.push(part)).on("error", (error) => (failed = error));
  const closed = new Promise<void>((resume) => gunzip.once("close", resume));
  try {
    for await (const chunk of chunks) {
      // Without its end, nobody would learn that the data is damaged.
      await Promise.race([closed, new Promise<void>((resume) => gunzip.write(chunk, () => resume()))]);
      yield* ready.splice(0);
      if (failed !== undefined) throw failed;
    }
    gunzip.end();
    await closed;
    yield* ready.splice(0);
    if (failed !== undefined) throw failed;
  } finally {
    gunzip.destroy();
  }
}

/** The first four bytes, or all of a shorter file; `rest` contains them too. */
async function withFirst(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  while (first.length < 4) {
    const next = await chunks.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  const begin = first;
  async function* rest() {
    try {
      if (begin.length > 0) yield begin;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  }
  return { first, rest: rest() };
}

function encodingOf([a, b]: Buffer): "utf-8" | "utf-16le" | "utf-16be" {
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  // Files of JSON or CSV begin with a character of ASCII.
  if (a === 0 && b !== undefined && b !== 0) return "utf-16be";
  return b === 0 && a !== 0 ? "utf-16le" : "utf-8";
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    yield hasMark ? chunk.subarray(3) : chunk;
    isFirst = false;
  }
}

const invalidByte = Buffer.from([0xff]);

async function* fromUtf16(chunks: AsyncIterable<Buffer>, encoding: "utf-16le" | "utf-16be"): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  const toUtf8 = (text: string) => {
    const parts = text.split("\ufffd").flatMap((part) => [invalidByte, Buffer.from(part)]);
    return Buffer.concat(parts.slice(1));
  };
  for await (const chunk of chunks) yield toUtf8(decoder.decode(chunk, { stream: true }));
  yield toUtf8(decoder.decode());
}

/** A line, a value or a row of a file: its bytes, or why it cannot be read. */
export interface Piece {
  /** The line of the file at which it begins, from 1. */
  readonly line: number;
  readonly bytes: Buffer;
  readonly fault?: string;
}

/** A record that is longer is refused; a request has 256 KiB. */
export const mostRecordBytes = 8 * 1024 * 1024;

export const tooLong = `is longer than ${mostRecordBytes / 1024 / 1024} MiB`;

/** **The lines of a file**, with the numbers that an editor shows: LF, CRLF and CR end a line, and blank lines count. Memory is that of one line. */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  let parts: Buffer[] = [];
  let [size, line, endedByCr] = [0, 1, false];
  const add = (part: Buffer) => {
    size += part.length;
    if (size <= mostRecordBytes) parts.push(part);
  };
  const take = (): Piece => {
    const fault = size > mostRecordBytes ? { fault: tooLong } : {};
    const piece = { line, bytes: Buffer.concat(parts), ...fault };
    [parts, size, line] = [[], 0, line + 1];
    return piece;
  };
  for await (const chunk of chunks) {
    let at = endedByCr && chunk[0] === 10 ? 1 : 0;
    let [cr, lf] = [-2, -2];
    if (chunk.length > 0) endedByCr = false;
    while (at < chunk.length) {
      if (cr !== -1 && cr < at) cr = chunk.indexOf(13, at);
      if (lf !== -1 && lf < at) lf = chunk.indexOf(10, at);
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      if (end === -1) {
        add(chunk.subarray(at));
        break;
      }
      add(chunk.subarray(at, end));
      yield take();
      at = end + (end === cr && chunk[end + 1] === 10 ? 2 : 1);
      endedByCr = end === cr && end + 1 === chunk.length;
    }
  }
  if (size > 0) yield take();
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** `undefined` if the bytes are no UTF-8. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
