export interface StorageCounts {
  readonly object: number;
  readonly kv: number;
  readonly d1: number;
}

/** **Storage calls of one response**, from the `Server-Timing` header (docs/reference/endpoints.md#server-timing): `dur` is a count. */
export function readServerTiming(header: string | undefined): StorageCounts | undefined {
  if (header === undefined) return undefined;
  const counts: Record<string, number> = {};
  for (const entry of header.split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const duration = parameters.find((parameter) => parameter.startsWith("dur="));
    if (duration !== undefined) counts[name] = Number(duration.slice("dur=".length));
  }
  const { object, kv, d1 } = counts;
  return object === undefined || kv === undefined || d1 === undefined ? undefined : { object, kv, d1 };
}
