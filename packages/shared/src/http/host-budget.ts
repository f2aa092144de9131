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
 * **How often an isolate fetches from one host** for callers who choose the URLs: any number of URLs may name one third party. A leaky bucket for each host, by
 * the host name as the URL parser writes it; none for loopback, which a local issuer alone may fetch (client-url.ts). One that is lost is counted anew.
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

  /** Counts a fetch. Returns the seconds after which the next one may be made, if this one may not. */
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
