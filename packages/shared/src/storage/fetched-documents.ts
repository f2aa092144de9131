import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { Settings } from "../config/settings.ts";
import { type FetchRules, fetchClientUrl, isJsonType } from "../http/fetch-client-url.ts";
import { type HostBudget, HostBusyError } from "../http/host-budget.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { log } from "../runtime/log.ts";
import { SharedCall } from "./shared-call.ts";

export interface DocumentKind<Value> {
  /** The kind's name in the log and in errors. */
  readonly name: string;
  readonly rules: FetchRules;
  /** The required media type: a JSON type; a JSON type or none; or an image, which is recognised by its bytes and read as base64. */
  readonly content: "json" | "json or untyped" | "image";
  readonly freshness: FreshnessBounds;
  /** How long a copy may be used after it was fresh, while its server fails. */
  readonly staleSeconds: number;
  readonly failureSeconds: number;
  /** Whether a failure only spares the fetch where another copy can be used; it is never the result of a later request. */
  readonly forgetsFailures?: true;
  /** The maximum size of all copies together. */
  readonly maxBytes: number;
  /** The maximum size of each list of URLs: renewed, failed, being fetched. */
  readonly urlBytes: number;
  readonly attachedBytes?: (value: Value) => number;
  /** The budget for documents whose URLs anyone can name. */
  readonly hostBudget?: HostBudget;
  /** The document in a body, or the reason why there is none. */
  read(body: string, url: string, settings: Settings): Value | DocumentRefusal | Promise<Value | DocumentRefusal>;
}

export interface DocumentRefusal {
  readonly refused: string;
}

/** A held copy: the value, and the time until which it is fresh. */
interface HeldDocument<Value> {
  readonly value: Value;
  readonly freshUntilMs: number;
}

type FetchedDocument<Value> =
  | (HeldDocument<Value> & { readonly kind: "document" })
  /** The server responds that there is no such document, or with a different one. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unreachable"; readonly reason: string };

interface Throttled {
  readonly kind: "throttled";
  readonly retryAfterSeconds: number;
}

/** How often one URL is fetched while its copy is fresh, because something is missing in the copy. */
const renewalMs = 60_000;

/**
 * **Documents of other servers** (key sets, client metadata, logos, issuers), fetched by the one guarded fetcher and kept in the isolate's memory as
 * long as their HTTP headers allow, within bounds. Concurrent requests for a URL share one fetch. A server that does not respond, or with 5xx or 429,
 * is not called again for `failureSeconds`, and the last copy is used until `staleSeconds` after it was fresh. Any other response withdraws the
 * document, and its copy is deleted at once. A host whose budget is spent is not called; without a copy, the response is then 429. Cost: 1 fetch if
 * no fresh copy is held.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9111#section-4.2
 */
export class FetchedDocuments<Value extends object> {
  readonly #kind: DocumentKind<Value>;
  readonly #held: IsolateCache<HeldDocument<Value>>;
  readonly #renewed: IsolateCache<true>;
  readonly #failed: IsolateCache<{ readonly outcome: Exclude<FetchedDocument<Value>, { kind: "document" }> }>;
  /** URLs with a fetch in progress, for as long as a fetch may take. */
  readonly #fetching: IsolateCache<true>;
  readonly #fetches: SharedCall<unknown, string, FetchedDocument<Value> | Throttled>;

  constructor(kind: DocumentKind<Value>) {
    const { maxBytes, urlBytes, attachedBytes } = kind;
    this.#kind = kind;
    this.#held = new IsolateCache({
      maxBytes,
      ...(attachedBytes === undefined ? {} : { attachedBytes: ({ value }) => attachedBytes(value) }),
    });
    this.#renewed = new IsolateCache({ maxBytes: urlBytes });
    this.#failed = new IsolateCache({ maxBytes: urlBytes });
    this.#fetching = new IsolateCache({ maxBytes: urlBytes });
    this.#fetches = new SharedCall({
      name: kind.name,
      joinsCallInFlight: true,
      callMs: kind.rules.timeoutMs + 1_000,
      send: (context, url) => this.#fetch(context, url),
    });
  }

  get heldBytes(): number {
    const budget = this.#kind.hostBudget?.heldBytes ?? 0;
    return this.#held.bytes + this.#renewed.bytes + this.#failed.bytes + this.#fetching.bytes + budget;
  }

  /** The held copy if it is fresh; never fetches. */
  held(context: RequestContext<unknown>, url: string): HeldDocument<Value> | undefined {
    const held = this.#held.get(url, context.arrivedAtMs);
    return held !== undefined && held.freshUntilMs > context.arrivedAtMs ? held : undefined;
  }

  /** Why a recent fetch failed, so that no fetch is made for a while. */
  failure(context: RequestContext<unknown>, url: string): string | undefined {
    return this.#failed.get(url, context.arrivedAtMs)?.outcome.reason;
  }

  /** The document, fetched if no fresh copy is held; a stale copy while its server fails. */
  async find(context: RequestContext<unknown>, url: string): Promise<FetchedDocument<Value>> {
    const fresh = this.held(context, url);
    if (fresh !== undefined) return { kind: "document", ...fresh };
    const stale = this.#held.get(url, context.arrivedAtMs);
    const failed = this.#failed.get(url, context.arrivedAtMs)?.outcome;
    const fetched =
      failed !== undefined && (stale !== undefined || this.#kind.forgetsFailures !== true)
        ? failed
        : await this.#share(context, url);
    if (fetched.kind === "document" || fetched.kind === "refused") return fetched;
    if (stale !== undefined) return { kind: "document", ...stale };
    if (fetched.kind === "throttled") throw new HostBusyError(url, fetched.retryAfterSeconds);
    return fetched;
  }

  /** A newer copy than the one held, at most once a minute per URL; `undefined` if it was already renewed or the fetch fails. */
  async renew(context: RequestContext<unknown>, url: string): Promise<Value | undefined> {
    const { arrivedAtMs } = context;
    if (this.#held.get(url, arrivedAtMs) !== undefined && !this.#fetching.get(url, arrivedAtMs)) {
      if (this.#renewed.get(url, arrivedAtMs)) return undefined;
      this.#renewed.set(url, true, arrivedAtMs + renewalMs);
    }
    if (this.failure(context, url) !== undefined) return undefined;
    const fetched = await this.#share(context, url);
    return fetched.kind === "document" ? fetched.value : undefined;
  }

  async #share(context: RequestContext<unknown>, url: string): Promise<FetchedDocument<Value> | Throttled> {
    try {
      return await this.#fetches.call(context, url, url);
    } catch (error) {
      // The requests that led the fetch were cancelled, which is handled like a server that does not respond.
      if (!(error instanceof UnavailableError)) throw error;
      return this.#fail(context, url, { kind: "unreachable", reason: "no turn" });
    }
  }

  async #fetch(context: RequestContext<unknown>, url: string): Promise<FetchedDocument<Value> | Throttled> {
    const retryAfterSeconds = this.#kind.hostBudget?.spend(url, context.arrivedAtMs);
    if (retryAfterSeconds !== undefined) return { kind: "throttled", retryAfterSeconds };
    this.#fetching.set(url, true, context.arrivedAtMs + this.#kind.rules.timeoutMs);
    const fetched = await this.#load(context, url);
    this.#fetching.delete(url);
    if (fetched.kind !== "document") return this.#fail(context, url, fetched);
    const { value, freshUntilMs } = fetched;
    this.#failed.delete(url);
    this.#held.set(url, { value, freshUntilMs }, freshUntilMs + this.#kind.staleSeconds * 1000);
    return fetched;
  }

  #fail(
    context: RequestContext<unknown>,
    url: string,
    outcome: Exclude<FetchedDocument<Value>, { kind: "document" }>,
  ): FetchedDocument<Value> {
    log("document-not-fetched", { kind: this.#kind.name, url, reason: outcome.reason, requestId: context.requestId });
    if (outcome.kind === "refused") this.#held.delete(url);
    if (outcome.kind === "refused" && this.#kind.forgetsFailures) return outcome;
    this.#failed.set(url, { outcome }, context.arrivedAtMs + this.#kind.failureSeconds * 1000);
    return outcome;
  }

  async #load(context: RequestContext<unknown>, url: string): Promise<FetchedDocument<Value>> {
    const { rules, freshness, content } = this.#kind;
    const request =
      content === "image"
        ? ({ headers: { accept: "image/*" }, rules, encoding: "base64" } as const)
        : { headers: { accept: "application/json" }, rules };
    const result = await fetchClientUrl(url, context.settings.issuer, request);
    if (result.kind === "refused") return result;
    if (result.kind === "failed") return { kind: "unreachable", reason: result.reason };
    const { status, headers, body } = result;
    if (status >= 500 || status === 429) return { kind: "unreachable", reason: `status ${status}` };
    if (status !== 200) return { kind: "refused", reason: `status ${status}` };
    const type = headers.get("content-type");
    const isJson = type === null ? content === "json or untyped" : isJsonType(type);
    if (content !== "image" && !isJson) return { kind: "refused", reason: `media type ${type}` };
    const value = await this.#kind.read(body, url, context.settings);
    if ("refused" in value) return { kind: "refused", reason: value.refused };
    const seconds = freshSeconds(headers, freshness, context.arrivedAtMs);
    return { kind: "document", value, freshUntilMs: context.arrivedAtMs + seconds * 1000 };
  }
}

interface FreshnessBounds {
  readonly leastSeconds: number;
  /** The lifetime without such headers. */
  readonly usualSeconds: number;
  readonly mostSeconds: number;
}

/**
 * **How long a fetched document may be used**: as its HTTP headers allow, within bounds. `s-maxage` precedes `max-age`, which precedes `Expires`;
 * `Age` is subtracted; `no-store` and `no-cache` mean the shortest time, because every request would otherwise fetch. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1
 */
export function freshSeconds(headers: Pick<Headers, "get">, bounds: FreshnessBounds, nowMs: number): number {
  const stated = statedSeconds(headers, nowMs);
  if (stated === undefined) return bounds.usualSeconds;
  return Math.min(bounds.mostSeconds, Math.max(bounds.leastSeconds, stated));
}

function statedSeconds(headers: Pick<Headers, "get">, nowMs: number): number | undefined {
  const directives = readDirectives(headers.get("cache-control") ?? "");
  if (directives.has("no-store") || directives.has("no-cache")) return 0;
  const age = readSeconds(headers.get("age")) ?? 0;
  const lifetime = readSeconds(directives.get("s-maxage")) ?? readSeconds(directives.get("max-age"));
  if (lifetime !== undefined) return lifetime - age;
  const expires = headers.get("expires");
  if (expires === null) return undefined;
  const expiresMs = Date.parse(expires);
  // §5.3: an invalid date, especially "0", is in the past.
  if (Number.isNaN(expiresMs)) return 0;
  const sentMs = Date.parse(headers.get("date") ?? "");
  return (expiresMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1000 - age;
}

function readDirectives(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(",").map((part) => {
      const [name = "", value = ""] = part.split("=", 2);
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, "$1")] as const;
    }),
  );
}

function readSeconds(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\d{1,10}$/.test(text.trim()) ? Number(text) : undefined;
}
