import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { usageFailure } from "../console/failure.ts";

/** What an export has written, beside its lines: the whole pages, and where the next one begins. */
interface Place {
  /** What is exported, and from where. */
  readonly source: string;
  readonly cursor: string;
  readonly bytes: number;
  readonly count: number;
}

/**
 * **A file of pages that appears when it is complete.** Until then it is `<path>.part`, beside which `<path>.part.json` says after each page where
 * the next one begins, so that the same command continues.
 */
export class PartialFile {
  readonly #path: string;
  readonly #source: string;
  readonly #file: number;
  #bytes: number;
  #count: number;
  /** Where the export continues; `undefined` for the first page. */
  readonly cursor: string | undefined;

  constructor(path: string, source: string) {
    if (existsSync(path)) throw usageFailure(`--out must name a new file: ${path} is there.`);
    this.#path = path;
    this.#source = source;
    const place = this.#readPlace();
    this.cursor = place?.cursor;
    this.#bytes = place?.bytes ?? 0;
    this.#count = place?.count ?? 0;
    this.#file = this.#open(place === undefined ? "wx" : "r+");
    if (place !== undefined) ftruncateSync(this.#file, place.bytes);
  }

  get count(): number {
    return this.#count;
  }

  /** A page, and where the next one begins. */
  add(lines: readonly string[], next: string | undefined): void {
    const page = Buffer.from(lines.map((line) => `${line}\n`).join(""));
    for (let at = 0; at < page.length; ) at += writeSync(this.#file, page, at, page.length - at, this.#bytes + at);
    this.#bytes += page.length;
    this.#count += lines.length;
    if (next !== undefined)
      this.#keepPlace({ source: this.#source, cursor: next, bytes: this.#bytes, count: this.#count });
  }

  finish(): void {
    fsyncSync(this.#file);
    renameSync(this.#partial, this.#path);
    rmSync(this.#placePath, { force: true });
  }

  close(): void {
    closeSync(this.#file);
  }

  get #partial(): string {
    return `${this.#path}.part`;
  }

  get #placePath(): string {
    return `${this.#partial}.json`;
  }

  #readPlace(): Place | undefined {
    if (!existsSync(this.#partial)) return undefined;
    const refused = (why: string) =>
      usageFailure(`${this.#partial} is there, ${why}: delete it, or name another file.`);
    if (!existsSync(this.#placePath)) throw refused("and has no whole page of an export");
    const place = JSON.parse(readFileSync(this.#placePath, "utf8")) as Place;
    if (place.source !== this.#source) throw refused(`of an export of ${place.source}`);
    if (statSync(this.#partial).size < place.bytes) throw refused("and has lost lines");
    return place;
  }

  /** Whole, whenever the process ends. */
  #keepPlace(place: Place): void {
    const next = `${this.#placePath}.new`;
    writeFileSync(next, JSON.stringify(place), { mode: 0o600 });
    renameSync(next, this.#placePath);
  }

  #open(flags: "wx" | "r+"): number {
    try {
      return openSync(this.#partial, flags, 0o600);
    } catch (error) {
      throw usageFailure(`--out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
