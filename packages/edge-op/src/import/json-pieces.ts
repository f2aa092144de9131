import { mostRecordBytes, type Piece, tooLong } from "./source-files.ts";

/** A value in a list of a document, with the name of the list; without one if the document is a list itself, or the value is the whole document. */
export interface ListedPiece extends Piece {
  readonly list?: string;
}

interface Level {
  readonly opener: number;
  /** In an object: a member's name is next. */
  isKeyNext: boolean;
  key: string;
  /** The values of a list that are records, and its name. */
  readonly records: { readonly list: string | undefined } | undefined;
}

/** A value that is a record, unless it turns out to have lists of records. */
interface Candidate {
  readonly line: number;
  /** The number of levels around it. */
  readonly depth: number;
  readonly list: string | undefined;
  parts: Buffer[];
  size: number;
  fault: string | undefined;
  isContainer: boolean;
  /** It has one of `lists`, not `tables` alone. */
  hasList: boolean;
}

const [quote, backslash, comma, colon, openList, closeList, openObject, closeObject] = Buffer.from(
  '"\\,:[]{}',
) as never as readonly [number, number, number, number, number, number, number, number];
const isBlank = (byte: number) => byte === 32 || byte === 9 || byte === 10 || byte === 13;

/**
 * **The records of a JSON document, one by one, however large it is and wherever it is damaged**: the values of a list, or those of members whose
 * names are `lists` at the top of the document or of a value, or `tables` at the top of the document. Only brackets and texts are read here; each
 * record is parsed by itself. After damage it continues where no record can be: a text ends with its line (RFC 8259 §7), and an object where a name
 * must be begins the next record. Memory is that of one record.
 */
export class JsonPieces {
  readonly #lists: ReadonlySet<string>;
  readonly #tables: ReadonlySet<string>;
  #levels: Level[] = [];
  #open: Candidate[] = [];
  #ready: ListedPiece[] = [];
  #line = 1;
  #afterCr = false;
  #inText = false;
  #isEscaped = false;
  /** A number or a word. */
  #inWord = false;
  /** The bytes of a name, while it is read. */
  #key: number[] | undefined;
  #chunk: Buffer = Buffer.alloc(0);
  /** The first byte of the chunk that no candidate has yet. */
  #from = 0;

  constructor(lists: readonly string[], tables: readonly string[] = []) {
    [this.#lists, this.#tables] = [new Set(lists), new Set(tables)];
  }

  /** The records that end in a chunk. */
  *read(chunk: Buffer): Generator<ListedPiece> {
    [this.#chunk, this.#from] = [chunk, 0];
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      if (this.#inText) this.#readText(byte, at);
      else this.#readMark(byte, at);
      if (byte === 13 || (byte === 10 && !this.#afterCr)) this.#line += 1;
      this.#afterCr = byte === 13;
      if (this.#ready.length > 0) yield* this.#ready.splice(0);
    }
    this.#keep(chunk.length);
  }

  /** What the end of the file left open. */
  *end(): Generator<ListedPiece> {
    if (this.#inWord && this.#isAtRecord()) this.#finish(0);
    for (const open of this.#open) {
      open.fault ??= open.isContainer
        ? "The file ends in the middle of a list: what followed is not there."
        : "is not closed: the file ends in the middle of it";
    }
    // A list that is the whole document has no candidate around it.
    const isCut = this.#open.length === 0 && this.#levels.length > 0;
    while (this.#open.length > 0) this.#emit(this.#open.pop()!);
    yield* this.#ready.splice(0).toReversed();
    const fault = "The file ends in the middle of its list: what followed is not there.";
    if (isCut) yield { line: this.#line, bytes: Buffer.alloc(0), fault };
  }

  #isAtRecord(): boolean {
    return this.#open.at(-1)?.depth === this.#levels.length;
  }

  #keep(to: number): void {
    const open = this.#open.at(-1);
    if (open !== undefined && to > this.#from) {
      open.size += to - this.#from;
      if (open.isContainer || open.size > mostRecordBytes) open.parts = [];
      else open.parts.push(this.#chunk.subarray(this.#from, to));
    }
    this.#from = to;
  }

  #finish(to: number): void {
    this.#keep(to);
    this.#emit(this.#open.pop()!);
  }

  #emit({ line, list, parts, size, fault, isContainer, hasList }: Candidate): void {
    if (isContainer && hasList && fault === undefined) return;
    const alone =
      isContainer && !hasList ? `has no list ${[...this.#lists].join(" or ")} beside its other lists` : undefined;
    const why = fault ?? alone ?? (size > mostRecordBytes ? tooLong : undefined);
    this.#ready.push({
      ...{ line, bytes: Buffer.concat(parts) },
      ...(list === undefined ? {} : { list }),
      ...(why === undefined ? {} : { fault: why }),
    });
  }

  #blame(fault: string): void {
    const open = this.#open.at(-1);
    if (open !== undefined) open.fault ??= fault;
  }

  #readText(byte: number, at: number): void {
    if (this.#isEscaped && byte !== 10 && byte !== 13) {
      this.#isEscaped = false;
      return;
    }
    if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote || byte === 10 || byte === 13) {
      if (byte !== quote) this.#blame("has a text that does not end in its line");
      const level = this.#levels.at(-1);
      if (this.#key !== undefined && level !== undefined) level.key = Buffer.from(this.#key).toString("latin1");
      [this.#inText, this.#isEscaped, this.#key] = [false, false, undefined];
      if (this.#isAtRecord()) this.#finish(at + 1);
    } else if (this.#key !== undefined && this.#key.length < 64) this.#key.push(byte);
  }

  #readMark(byte: number, at: number): void {
    const isClosing = byte === closeList || byte === closeObject;
    if (this.#inWord) {
      if (!isBlank(byte) && byte !== comma && byte !== colon && !isClosing && byte !== quote) return;
      this.#inWord = false;
      if (this.#isAtRecord()) this.#finish(at);
    }
    if (isBlank(byte)) return;
    const level = this.#levels.at(-1);
    if (isClosing) this.#close(byte, at);
    else if (byte === comma && level !== undefined) level.isKeyNext = level.opener === openObject;
    else if (byte === colon && level !== undefined) level.isKeyNext = false;
    else if (byte !== comma && byte !== colon) this.#begin(byte, at);
  }

  #begin(byte: number, at: number): void {
    if (byte === openObject && this.#levels.at(-1)?.isKeyNext === true) this.#breakRecord(at);
    const level = this.#levels.at(-1);
    const mayBeRecord = level === undefined ? byte !== openList : level.records !== undefined;
    if (mayBeRecord && !this.#isAtRecord()) {
      this.#keep(at);
      this.#open.push({
        ...{ line: this.#line, depth: this.#levels.length, list: level?.records?.list },
        ...{ parts: [], size: 0, fault: undefined, isContainer: false, hasList: false },
      });
    }
    if (byte === quote) {
      this.#inText = true;
      if (level?.opener === openObject && level.isKeyNext) this.#key = [];
    } else if (byte === openList || byte === openObject) {
      const records = byte === openList ? this.#listAt(level) : undefined;
      this.#levels.push({ opener: byte, isKeyNext: byte === openObject, key: "", records });
    } else this.#inWord = true;
  }

  /** The list that begins here, if its values are records. */
  #listAt(level: Level | undefined): Level["records"] {
    if (level === undefined) return { list: undefined };
    const open = this.#open.at(-1);
    const isMember = open !== undefined && level.opener === openObject && this.#levels.length === open.depth + 1;
    if (!isMember || level.isKeyNext) return undefined;
    const isList = this.#lists.has(level.key);
    if (!isList && !(open.depth === 0 && this.#tables.has(level.key))) return undefined;
    [open.isContainer, open.hasList, open.parts] = [true, open.hasList || isList, []];
    return { list: level.key };
  }

  /** An object where a name must be: the record before it was not closed. */
  #breakRecord(at: number): void {
    const open = this.#open.at(-1);
    if (open === undefined) return;
    if (open.isContainer) this.#blame("has objects outside of its lists, which are not read");
    else {
      open.fault ??= "is not closed";
      this.#levels.length = open.depth;
      this.#finish(at);
    }
  }

  #close(byte: number, at: number): void {
    const opener = byte === closeList ? openList : openObject;
    const depth = this.#levels.findLastIndex((level) => level.opener === opener);
    if (depth < this.#levels.length - 1) this.#blame("has brackets that do not match");
    if (depth === -1 || (opener === openObject && this.#levels.at(-1)?.records !== undefined)) return;
    // What the bracket closes contains the record.
    for (let open = this.#open.at(-1); open !== undefined && open.depth > depth; open = this.#open.at(-1))
      this.#finish(at);
    this.#levels.length = depth;
    if (this.#isAtRecord()) this.#finish(at + 1);
  }
}
