import type { Settings } from "../config/settings.ts";

interface Sender {
  /** Where the request arrived. */
  readonly cf: Partial<IncomingRequestCfProperties> | undefined;
  readonly settings: Pick<Settings, "trustForwardedHeaders">;
}

/**
 * **The address of a request's sender**, for rate limits: the one that Cloudflare reports, or the one that a trusted proxy appends to
 * `X-Forwarded-For`. `undefined` otherwise, because any other sender can forge these headers. For IPv6 the /64 counts, because one person can use all
 * of its addresses.
 */
export function clientAddress(sender: Sender, request: Pick<Request, "headers">): string | undefined {
  const address = fullAddress(sender, request);
  return address === undefined ? undefined : networkOf(address);
}

/** The sender's network, for the audit: /24 of IPv4, /48 of IPv6. It does not identify a person. */
export function senderNetwork(sender: Sender, request: Pick<Request, "headers">): string | undefined {
  const address = fullAddress(sender, request);
  if (address === undefined) return undefined;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  if (mapped.includes(":")) return `${networkOf(mapped).split(":").slice(0, 3).join(":")}::/48`;
  return /^(\d+\.\d+\.\d+)\.\d+$/.test(mapped) ? mapped.replace(/\.\d+$/, ".0/24") : undefined;
}

function fullAddress({ cf, settings }: Sender, { headers }: Pick<Request, "headers">): string | undefined {
  const connecting = headers.get("cf-connecting-ip") ?? undefined;
  const isBehindCloudflare = cf?.colo !== undefined;
  if (!isBehindCloudflare && !settings.trustForwardedHeaders) return undefined;
  const forwarded = isBehindCloudflare ? undefined : headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  return forwarded || connecting;
}

function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = [], tail] = address.split("::", 2).map((part) => part.split(":").filter(Boolean));
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(":");
}
