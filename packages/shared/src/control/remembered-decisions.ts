import { isolateMemory, limits } from "../config/limits.ts";
import type { ReceivedRequest } from "../http/received-request.ts";
import type { RecordName, RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { ControlKind } from "../storage/record-kinds.ts";
import type { ControlView } from "./control-view.ts";

/** A decision that depends on records and the text of its request. Whoever carries it out handles the other differences between two requests. */
export interface Repeatable {
  /** The end of the validity of a presented token or secret. If it is absent, each request is decided anew. */
  readonly repeatableUntilMs?: number;
}

/** How an endpoint decides. */
export interface Deciding<Input extends object, Decision> {
  /** Parses the request. */
  read(): Input;
  decide(input: Input): Promise<Decision>;
  /** Repeats the part that every request requires; throws a refusal. */
  again(known: Decision): void | Promise<void>;
}

/**
 * **The decisions of an endpoint, reused for requests that equal an earlier one byte for byte** in `Authorization` and body (ADR 27), while all
 * records that the decision has read are current (read-set.ts), unless a hook took part in it. Only granted requests are remembered, and only by
 * endpoints that decide anew, for each request, everything that depends on more than records and the request: revocation, rate limits, the clock,
 * random values. A decision is plain data, because its size is estimated. It contains no objects of a request, because they must not outlive the
 * request. Method and `Content-Type` are those of a form: a body of another type has no `text`. Cost: none.
 */
export class RememberedDecisions {
  readonly #control: ControlView;
  readonly #entries = new IsolateCache<Entry>({ maxBytes: isolateMemory.decisions });
  readonly #marks = new Uint32Array(markRows * marksInRow);

  constructor(control: ControlView) {
    this.#control = control;
  }

  get heldBytes(): number {
    return this.#entries.bytes;
  }

  /**
   * The decision on a request at `path`: the remembered one of an equal request, or a new one. To be called in each attempt of a settled decision.
   * Refuses a request that cannot be read.
   */
  around<Input extends object, Decision extends Repeatable>(
    context: RequestContext<unknown>,
    path: string,
    request: ReceivedRequest,
    { read, decide, again }: Deciding<Input, Decision>,
  ): () => Promise<Decision> {
    const entry = this.#find(context, path, request);
    let input = entry === undefined ? read() : undefined;
    return async () => {
      if (entry !== undefined && this.#isCurrent(entry)) {
        for (const { kind, id } of entry.reads) context.progress.reads?.note(kind, id);
        const known = entry.decision as Decision;
        await again(known);
        return known;
      }
      input ??= read();
      const decision = await decide(input);
      this.#add(context, path, request, decision);
      return decision;
    };
  }

  #find(context: RequestContext<unknown>, path: string, request: ReceivedRequest): Entry | undefined {
    const text = textOf(request);
    if (text === undefined) return undefined;
    const authorization = authorizationOf(request);
    const entry = this.#entries.get(keyOf(path, authorization, text), context.arrivedAtMs);
    if (entry === undefined || entry.path !== path || entry.shortBody !== shortBodyOf(text)) return undefined;
    if (entry.authorization !== authorization || !this.#isCurrent(entry)) return undefined;
    // A response to the holder of a key is bound to that key.
    return request.headers.has("dpop") ? undefined : entry;
  }

  #isCurrent(entry: Entry): boolean {
    const { version } = this.#control;
    if (entry.stamp === version) return true;
    if (!entry.reads.every(({ kind, id }) => this.#control.isCurrent(kind, id, entry.stamp))) return false;
    entry.stamp = version!;
    return true;
  }

  /**
   * Does nothing for the first of several equal requests, because most requests are not repeated, and while another client's request with the same
   * body is remembered.
   */
  #add(context: RequestContext<unknown>, path: string, request: ReceivedRequest, decision: Repeatable): void {
    const text = textOf(request);
    const { arrivedAtMs, progress } = context;
    const { repeatableUntilMs = 0 } = decision;
    if (text === undefined || repeatableUntilMs <= arrivedAtMs || progress.reads?.areCurrent() !== true) return;
    if (progress.calledHook === true) return;
    const authorization = authorizationOf(request);
    const key = keyOf(path, authorization, text);
    if (key.length > limits.rememberedCharacters || !this.#wasMarked(key)) return;
    const earlier = this.#entries.get(key, arrivedAtMs);
    if (earlier !== undefined && this.#isCurrent(earlier)) return;
    const entry: Entry = {
      path,
      shortBody: shortBodyOf(text),
      authorization,
      decision,
      reads: progress.reads.reads.map(({ kind, id }) => ({ kind: kind as ControlKind, id })),
      stamp: this.#control.version!,
    };
    this.#entries.set(key, entry, Math.min(repeatableUntilMs, arrivedAtMs + limits.rememberedMs));
  }

  /** Whether a request with this key arrived recently; exact until others replace its mark, the newest of which is the first of its row. */
  #wasMarked(key: string): boolean {
    const mark = markOf(key);
    const from = (mark % markRows) * marksInRow;
    for (let place = from; place < from + marksInRow; place += 1) if (this.#marks[place] === mark) return true;
    this.#marks.copyWithin(from + 1, from, from + marksInRow - 1);
    this.#marks[from] = mark;
    return false;
  }
}

interface Entry {
  readonly path: string;
  /** Undefined for a long body, which is the key itself. */
  readonly shortBody: string | undefined;
  readonly authorization: string | null;
  readonly decision: Repeatable;
  readonly reads: readonly RecordName<ControlKind>[];
  /** A control version at which all of them were current. */
  stamp: number;
}

/** Undefined for a request with a query, because the query is not part of the key. */
function textOf({ url, text }: ReceivedRequest): string | undefined {
  return url.includes("?") ? undefined : text;
}

/** An empty header is malformed client authentication; a missing header is no client authentication. */
function authorizationOf({ headers }: ReceivedRequest): string | null {
  return headers.get("authorization");
}

/**
 * A longer body contains a token and serves as the key by itself: most such bodies come from one client, and concatenating texts has a cost. Without
 * a body, the header is the key: at UserInfo it contains the token.
 */
const shortLength = 256;

function shortBodyOf(text: string): string | undefined {
  return text.length > shortLength ? undefined : text;
}

function keyOf(path: string, authorization: string | null, text: string): string {
  if (text.length > shortLength) return text;
  return text === "" ? (authorization ?? "") : `${path} ${authorization}\n${text}`;
}

/** The marks for decided requests: 16 KiB. With one mark in a row, two keys of one row would displace each other for ever, 5 % of 200 keys. */
const markRows = 1_024;
const marksInRow = 4;
const markedCharacters = 48;

/** A hash of some characters, evenly spaced: keys that differ in a random text nearly always have different ones. */
function markOf(key: string): number {
  const step = Math.max(1, Math.floor(key.length / markedCharacters));
  let mark = key.length;
  for (let at = key.length - 1; at >= 0; at -= step) mark = (Math.imul(mark, 31) + key.charCodeAt(at)) | 0;
  return mark >>> 0;
}
