import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { isLoopback } from "./client-url.ts";

interface Bucket {
  level: number;
  atMs: number;
}

const minuteMs = 60_000;
/** Its members are numbers of 16 bytes. */
const bucketBytes = 32;

/** The budget of a host is spent: 429. */
export class HostBusyError extends OAuthError {
  constructor(url: string, retryAfterSeconds: number) {
    super("rate_limited", "host-budget-spent", {
      detail: new URL(url).hostname,
      description: `Too many different documents of ${new URL(url).hostname} were asked for. Try again later.`,
      headers: { "Retry-After": String(retryAfterSeconds) },
    });
  }
}

/**
 * **Limits how often an isolate fetches from one host** for callers who choose the URLs, because any number of URLs may name one third party. Each
 * host, by its name in the URL parser's form, has a leaky bucket; loopback, which only a local issuer may fetch (client-url.ts), has none. A bucket
 * that is evicted starts empty.
 */
export class HostBudget {
  readonly #perMinute: number;
  readonly #buckets: IsolateCache<Bucket>;

  constructor({ perMinute, maxBytes }: { readonly perMinute: number; readonly maxBytes: number }) {
    this.#perMinute = perMinute;
    this.#buckets = new IsolateCache({ maxBytes, attachedBytes: () => bucketBytes });
  }

  get heldBytes(): number {
    return this.#buckets.bytes;
  }

  /** Counts a fetch. If it is over the limit, returns the seconds until the next one is allowed. */
  spend(url: string, atMs: number): number | undefined {
    const host = URL.canParse(url) ? new URL(url).hostname : "";
    if (isLoopback(host)) return undefined;
    const drainMs = minuteMs / this.#perMinute;
    const known = this.#buckets.get(host, atMs) ?? { level: 0, atMs };
    const level = Math.max(0, known.level - Math.max(0, atMs - known.atMs) / drainMs);
    if (level + 1 > this.#perMinute) return Math.ceil(((level + 1 - this.#perMinute) * drainMs) / 1000);
    this.#buckets.set(host, { level: level + 1, atMs }, atMs + minuteMs);
    return undefined;
  }
}
