import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isolateMemory } from "../config/limits.ts";
import { clientAddress } from "../http/client-address.ts";
import type { RequestContext } from "../http/request-context.ts";
import { IsolateCache } from "../runtime/isolate-cache.ts";
import { log } from "../runtime/log.ts";

export interface RateLimitBindings {
  /** Requests of one client at one endpoint. */
  readonly CLIENT_RATE_LIMIT?: RateLimit;
  /** Failed client authentications of one address. */
  readonly FAILED_AUTHENTICATION_RATE_LIMIT?: RateLimit;
  /** Requests of one address for pages without authentication. */
  readonly ADDRESS_RATE_LIMIT?: RateLimit;
}

type Context = RequestContext<RateLimitBindings>;

interface Counter {
  unreported: number;
  reportedAtMs: number;
  refusedUntilMs: number;
}

/** The estimated size of a counter: its members start at 0, and each becomes a number of 16 bytes. */
const counterBytes = 48;
const reportEveryMs = 250;
/** How long a result of the limiter is used before the next report. */
const refusedForMs = 1_000;

/**
 * **Rate limits, by Cloudflare's rate-limit binding**: counted where requests arrive, without an object or storage. An isolate counts locally and
 * reports in the background, so no request waits for the limiter; exceeding a limit takes effect one report later. The deployment sets the limits
 * (`[[ratelimits]]`); an absent binding limits nothing.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4
 */
export class RateShield {
  readonly #counters = new IsolateCache<Counter>({
    maxBytes: isolateMemory.rateCounters,
    attachedBytes: () => counterBytes,
  });

  get heldBytes(): number {
    return this.#counters.bytes;
  }

  /** Counts a request of an authenticated client; 429 beyond the limit. */
  countRequest(context: Context, endpoint: string, clientId: string): void {
    this.#count(context, context.env.CLIENT_RATE_LIMIT, `${endpoint} ${clientId}`);
  }

  /** Counts a failed authentication of an address, if the address is known; 429 beyond the limit. Successes are never counted. */
  countFailedAuthentication(context: Context, request: Pick<Request, "headers">): void {
    const address = clientAddress(context, request);
    if (address !== undefined) this.#count(context, context.env.FAILED_AUTHENTICATION_RATE_LIMIT, `failed ${address}`);
  }

  /** Counts a registration of an address against the limit of failed authentications, because its caller has not authenticated either. */
  countRegistration(context: Context, request: Pick<Request, "headers">): void {
    const address = clientAddress(context, request);
    if (address !== undefined)
      this.#count(context, context.env.FAILED_AUTHENTICATION_RATE_LIMIT, `registers ${address}`);
  }

  /** Whether failed authentications of the address are refused now. */
  isSpent(context: Context, request: Pick<Request, "headers">): boolean {
    const address = clientAddress(context, request);
    const counter = address === undefined ? undefined : this.#counters.get(`failed ${address}`, 0);
    return counter !== undefined && context.arrivedAtMs < counter.refusedUntilMs;
  }

  /** Undoes a count that was made before the client was looked up, because the client has authenticated. */
  discountAuthentication(context: Context, request: Pick<Request, "headers">): void {
    const address = clientAddress(context, request);
    const counter = address === undefined ? undefined : this.#counters.get(`failed ${address}`, 0);
    if (counter !== undefined) counter.unreported -= 1;
  }

  /** Counts a request of an address for a page that needs no authentication, if the address is known; 429 beyond the limit. */
  countAddress(context: Context, request: Pick<Request, "headers">): void {
    const address = clientAddress(context, request);
    if (address !== undefined) this.#count(context, context.env.ADDRESS_RATE_LIMIT, `pages ${address}`);
  }

  #count(context: Context, limiter: RateLimit | undefined, key: string): void {
    if (limiter === undefined) return;
    const atMs = context.arrivedAtMs;
    const counter = this.#counter(key);
    if (atMs < counter.refusedUntilMs) {
      throw new OAuthError("rate_limited", "rate-limit-exceeded", {
        detail: key,
        headers: { "Retry-After": String(refusedForMs / 1000) },
      });
    }
    counter.unreported += 1;
    if (atMs < counter.reportedAtMs + reportEveryMs || counter.unreported <= 0) return;
    counter.reportedAtMs = atMs;
    const delta = counter.unreported;
    counter.unreported = 0;
    context.waitUntil(report(context, limiter, { key, delta }, counter));
  }

  #counter(key: string): Counter {
    const known = this.#counters.get(key, 0);
    if (known !== undefined) return known;
    // A lost counter is harmless: a client that is over its limit is soon counted again.
    const counter = { unreported: 0, reportedAtMs: 0, refusedUntilMs: 0 };
    this.#counters.set(key, counter, Number.POSITIVE_INFINITY);
    return counter;
  }
}

/** A limiter that does not respond limits nothing. */
async function report(
  context: Context,
  limiter: RateLimit,
  count: Required<RateLimitOptions>,
  counter: Counter,
): Promise<void> {
  try {
    if (!(await isWithin(limiter, count))) counter.refusedUntilMs = context.arrivedAtMs + refusedForMs;
  } catch (cause) {
    log("rate-limit-failed", { cause: String(cause), requestId: context.requestId });
  }
}

/**
 * Limiters of runtimes without `delta`, which count one request at a time. The report of a busy isolate is then truncated, which raises the limit.
 */
const withoutDelta = new WeakSet<RateLimit>();
const singleCounts = 16;

async function isWithin(limiter: RateLimit, { key, delta }: Required<RateLimitOptions>): Promise<boolean> {
  if (delta === 1) return (await limiter.limit({ key })).success;
  if (!withoutDelta.has(limiter)) {
    try {
      return (await limiter.limit({ key, delta })).success;
    } catch (cause) {
      if (!String(cause).includes("delta")) throw cause;
      withoutDelta.add(limiter);
    }
  }
  const counts = Array.from({ length: Math.min(delta, singleCounts) }, () => limiter.limit({ key }));
  return (await Promise.all(counts)).every(({ success }) => success);
}
