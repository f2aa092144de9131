/**
 * **The URLs of a client that this provider fetches**: https on port 443 of a public host other than the provider's own, in one spelling. Private,
 * loopback, link-local, unique-local, shared and special addresses are refused, as are host names that always resolve to one. The platform blocks
 * public names that resolve to private addresses, and sends requests for hosts of the Worker's own zone through that zone's protections
 * (`global_fetch_strictly_public`).
 *
 * @see https://www.rfc-editor.org/rfc/rfc6890
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.11
 */

const localNames =
  /(^|\.)(localhost|local|internal|intranet|lan|corp|home|private|localdomain|home\.arpa|test|invalid|onion|alt)$/;

/** Public names that resolve to the address that they contain, or to loopback. */
const inwardNames =
  /(^|\.)(nip\.io|sslip\.io|xip\.io|localtest\.me|lvh\.me|lacolhost\.com|vcap\.me|traefik\.me|rbndr\.us)$/;

/** First octets and mask length of every IPv4 block that is not public. */
const specialIpv4: readonly (readonly [number, number, number, number, number])[] = [
  [0, 0, 0, 0, 8],
  [10, 0, 0, 0, 8],
  [100, 64, 0, 0, 10],
  [127, 0, 0, 0, 8],
  [169, 254, 0, 0, 16],
  [172, 16, 0, 0, 12],
  [192, 0, 0, 0, 24],
  [192, 0, 2, 0, 24],
  [192, 31, 196, 0, 24],
  [192, 52, 193, 0, 24],
  [192, 88, 99, 0, 24],
  [192, 168, 0, 0, 16],
  [192, 175, 48, 0, 24],
  [198, 18, 0, 0, 15],
  [198, 51, 100, 0, 24],
  [203, 0, 113, 0, 24],
  [224, 0, 0, 0, 3],
];

/**
 * The reason why `url` must not be fetched; `undefined` if it may be. With a local issuer (development, with or without TLS) loopback is allowed,
 * over http and on any port except the issuer's.
 */
export function refuseClientUrl(url: string, issuer: string): string | undefined {
  if (!URL.canParse(url)) return "not an absolute URL";
  const { protocol, hostname, port, username, password } = new URL(url);
  if (username !== "" || password !== "") return "carries credentials";
  const own = new URL(issuer);
  if (isLoopback(own.hostname) && isLoopback(hostname)) {
    if (!/^https?:$/.test(protocol)) return "not http or https";
    return portOf({ protocol, port }) === portOf(own) ? "this provider's own" : undefined;
  }
  if (protocol !== "https:") return "not https";
  if (hostname.endsWith(".")) return "a host name with a final dot";
  if (!isPublicHost(hostname)) return "not a public host";
  if (hostname === own.hostname) return "this provider's own";
  return port === "" ? undefined : "not on port 443";
}

function portOf({ protocol, port }: Pick<URL, "protocol" | "port">): string {
  if (port !== "") return port;
  return protocol === "https:" ? "443" : "80";
}

export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

/** `hostname` in the URL parser's form: IPv4 as four decimal octets, IPv6 compressed in brackets. */
function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return isPublicIpv6(hostname.slice(1, -1));
  const octets = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(hostname)?.slice(1).map(Number);
  if (octets !== undefined) return isPublicIpv4(octets);
  return hostname.includes(".") && !localNames.test(hostname) && !inwardNames.test(hostname);
}

function isPublicIpv4(octets: readonly number[]): boolean {
  const value = toNumber(octets);
  return specialIpv4.every(([a, b, c, d, length]) => {
    const size = 2 ** (32 - length);
    return Math.floor(value / size) !== Math.floor(toNumber([a, b, c, d]) / size);
  });
}

function toNumber(octets: readonly number[]): number {
  return octets.reduce((value, octet) => value * 256 + octet, 0);
}

/**
 * Only global unicast (2000::/3), without documentation ranges and the transition ranges that embed an IPv4 address: a mapped, NAT64, 6to4 or Teredo
 * address could contain a private one.
 */
function isPublicIpv6(address: string): boolean {
  const groups = address.split(":");
  const first = Number.parseInt(groups[0] || "0", 16);
  const second = Number.parseInt(groups[1] || "0", 16);
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2002 || first === 0x3fff) return false;
  return !(first === 0x2001 && (second < 0x0200 || second === 0x0db8));
}
