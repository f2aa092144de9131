import type { RequestContext } from "./request-context.ts";

/**
 * **The address of a request's sender**, for rate limits: the one that Cloudflare reports, or the one that a trusted proxy appends
 * to `X-Forwarded-For`. `undefined` without either, because any other sender can forge these headers. Of IPv6 the /64 counts, since
 * one person has all of its addresses.
 */
export function clientAddress(
  { cf, settings }: Pick<RequestContext<unknown>, "cf" | "settings">,
  { headers }: Pick<Request, "headers">,
): string | undefined {
  const connecting = headers.get("cf-connecting-ip") ?? undefined;
  const isBehindCloudflare = cf?.colo !== undefined;
  if (!isBehindCloudflare && !settings.trustForwardedHeaders) return undefined;
  const forwarded = isBehindCloudflare ? undefined : headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  const address = forwarded || connecting;
  return address === undefined ? undefined : networkOf(address);
}

function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = [], tail] = address.split("::", 2).map((part) => part.split(":").filter(Boolean));
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(":");
}
