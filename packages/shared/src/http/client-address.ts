import type { RequestContext } from "./request-context.ts";

/**
 * **Where a request comes from**, for limits that go by address: what Cloudflare says, or a proxy that the deployment trusts, which
 * appends the address it was called from to `X-Forwarded-For`. From anyone else these headers are claims, and
 * `undefined` is the answer. Of IPv6 the /64: one person has all its addresses.
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
