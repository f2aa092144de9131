export interface FreshnessBounds {
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
