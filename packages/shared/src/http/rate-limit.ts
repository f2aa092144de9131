import { OAuthError } from "../oauth/errors.ts";
import type { RequestContext } from "./request-context.ts";

/**
 * **Rate limits as a shield**, by Cloudflare's rate-limit binding: counted where the request arrives, without an object or
 * storage. Limits are settings of the deployment (`[[ratelimits]]` in the wrangler files); an absent binding limits nothing.
 *
 * @see https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 * @see https://www.rfc-editor.org/rfc/rfc6585#section-4
 */
export interface RateLimitBindings {
  /** Requests of one client at one endpoint. */
  readonly CLIENT_RATE_LIMIT?: RateLimit;
  /** Failed client authentications of one address. */
  readonly FAILED_AUTHENTICATION_RATE_LIMIT?: RateLimit;
}

/** The period of both limits in the wrangler files. */
const retryAfterSeconds = "10";

function tooMany(detail: string): OAuthError {
  return new OAuthError("rate_limited", detail, { headers: { "Retry-After": retryAfterSeconds } });
}

/** Counts a request of an authenticated client; 429 beyond the limit. A limiter that does not answer limits nothing. */
export async function limitClient(
  context: RequestContext<RateLimitBindings>,
  endpoint: string,
  clientId: string,
): Promise<void> {
  const limiter = context.env.CLIENT_RATE_LIMIT;
  if (limiter !== undefined && !(await isWithin(context, limiter, `${endpoint} ${clientId}`))) {
    throw tooMany(`client ${clientId} at ${endpoint}`);
  }
}

/** Counts a failed authentication of the address that the platform names; 429 beyond the limit. Successes never count. */
export async function limitFailedAuthentication(
  context: RequestContext<RateLimitBindings>,
  request: Request,
): Promise<void> {
  const limiter = context.env.FAILED_AUTHENTICATION_RATE_LIMIT;
  const address = request.headers.get("cf-connecting-ip");
  if (limiter === undefined || address === null) return;
  if (!(await isWithin(context, limiter, address))) throw tooMany("failed authentications of one address");
}

async function isWithin(context: RequestContext<unknown>, limiter: RateLimit, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success;
  } catch (cause) {
    console.warn(JSON.stringify({ event: "rate-limit-failed", cause: String(cause), requestId: context.requestId }));
    return true;
  }
}
