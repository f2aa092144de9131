import { isolateMemory, limits } from "../config/limits.ts";
import type { ReceivedRequest } from "../http/received-request.ts";
import type { RecordName, RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import type { ControlKind } from "../storage/record-kinds.ts";
import type { ControlView } from "./control-view.ts";

/** A decision by records and the text of its request: what else differs between two requests is left to whoever carries it out. */
export interface Repeatable {
  /** When something that was presented ends: a token, a secret. Absent: each request is decided anew. */
  readonly repeatableUntilMs?: number;
}

/** How an endpoint decides. */
export interface Deciding<Input extends object, Decision> {
  /** Parses the request. */
  read(): Input;
  decide(input: Input): Promise<Decision>;
  /** What is done for each request nevertheless; throws a refusal. */
  again(known: Decision): void | Promise<void>;
}

/**
 * **The decisions of an endpoint, reused for requests that equal an earlier one byte for byte** in `Authorization` and body (ADR 30), while all records
 * that the decision has read are current (read-set.ts). Only granted requests are remembered, and only by endpoints that decide anew, each time, what
 * depends on more than records and the request: revocation, rate limits, the clock, random values. A decision is plain data, because its size is
 * estimated, without objects of a request, which must not outlive it. Method and `Content-Type` are those of the body: another type has no `text`.
 * Cost: none.
 */
export class RememberedDecisions {
  readonly #control: ControlView;
  readonly #entries = new IsolateCache<Entry>({ maxBytes: isolateMemory.decisions });
  readonly #marks = new Uint32Array(markedRequests);

  constructor(control: ControlView) {
    this.#control = control;
  }

  get heldBytes(): number {
    return this.#entries.bytes;
  }

  /**
   * The decision on a request at `path`: that on an equal one, or a new one. To be called in each attempt of a settled decision; a request that cannot be
   * read is refused here already.
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
    const entry = this.#entries.get(keyOf(path, request, text), context.arrivedAtMs);
    if (entry === undefined || entry.path !== path || entry.shortBody !== shortBodyOf(text)) return undefined;
    if (entry.authorization !== authorizationOf(request) || !this.#isCurrent(entry)) return undefined;
    // What is issued to the holder of a key is bound to it.
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
   * Does nothing for the first of equal requests, because most have no second, and while another client's request with the same body is
   * remembered.
   */
  #add(context: RequestContext<unknown>, path: string, request: ReceivedRequest, decision: Repeatable): void {
    const text = textOf(request);
    const { arrivedAtMs, progress } = context;
    const { repeatableUntilMs = 0 } = decision;
    if (text === undefined || repeatableUntilMs <= arrivedAtMs || progress.reads?.areCurrent() !== true) return;
    const key = keyOf(path, request, text);
    if (key.length > limits.rememberedCharacters || !this.#wasMarked(key)) return;
    const earlier = this.#entries.get(key, arrivedAtMs);
    if (earlier !== undefined && this.#isCurrent(earlier)) return;
    const entry: Entry = {
      path,
      shortBody: shortBodyOf(text),
      authorization: authorizationOf(request),
      decision,
      reads: progress.reads.reads.map(({ kind, id }) => ({ kind: kind as ControlKind, id })),
      stamp: this.#control.version!,
    };
    this.#entries.set(key, entry, Math.min(repeatableUntilMs, arrivedAtMs + limits.rememberedMs));
  }

  /** Whether a request with this key came lately; exact until others take the place of its mark. */
  #wasMarked(key: string): boolean {
    const mark = markOf(key);
    const place = mark % markedRequests;
    if (this.#marks[place] === mark) return true;
    this.#marks[place] = mark;
    return false;
  }
}

interface Entry {
  readonly path: string;
  /** A long one is the key. */
  readonly shortBody: string | undefined;
  readonly authorization: string | null;
  readonly decision: Repeatable;
  readonly reads: readonly RecordName<ControlKind>[];
  /** A control version at which all of them were current. */
  stamp: number;
}

/** A query is no part of the key. */
function textOf({ url, text }: ReceivedRequest): string | undefined {
  return url.includes("?") ? undefined : text;
}

/** An empty header is malformed client authentication, and none is none. */
function authorizationOf({ headers }: ReceivedRequest): string | null {
  return headers.get("authorization");
}

/** A longer body contains a token, and is a key by itself: most are of one client, and joining texts has a cost. */
const shortLength = 256;

function shortBodyOf(text: string): string | undefined {
  return text.length > shortLength ? undefined : text;
}

function keyOf(path: string, request: ReceivedRequest, text: string): string {
  return text.length > shortLength ? text : `${path} ${authorizationOf(request)}\n${text}`;
}

/** Of requests that were decided, 16 KiB. */
const markedRequests = 4_096;
const markedCharacters = 48;

/** A hash of some characters, evenly spaced: keys that differ in a random text nearly always have different ones. */
function markOf(key: string): number {
  const step = Math.max(1, Math.floor(key.length / markedCharacters));
  let mark = key.length;
  for (let at = key.length - 1; at >= 0; at -= step) mark = (Math.imul(mark, 31) + key.charCodeAt(at)) | 0;
  return mark >>> 0;
}
