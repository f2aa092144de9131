import { table } from "../lib/format.ts";
import { percentile } from "../lib/percentile.ts";
import { peerName } from "./start-peer.ts";

/** Latencies of single requests. */
export interface Spread {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly samples: number;
}

export function spreadOf(latencies: readonly number[]): Spread {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50Ms: percentile(sorted, 0.5), p95Ms: percentile(sorted, 0.95), samples: sorted.length };
}

export const temperatures = ["cold", "afterPause", "busy"] as const;

/** The first request of an isolate; the first after three seconds without one; one of a busy isolate. */
export type Temperatures = Readonly<Record<(typeof temperatures)[number], Spread>>;

export interface DistanceLine {
  readonly endpoint: string;
  readonly separate: Temperatures;
  readonly compact: Temperatures;
  /** `queries`: of one request. */
  readonly peer: (Spread & { readonly queries: number }) | undefined;
}

/** **Latencies with stores at a distance**, of separate Workers and of the compact one, beside node-oidc-provider with a database as far away. */
export interface DistanceReport {
  readonly distances: Readonly<Record<"object" | "kv" | "d1", number>>;
  readonly lines: readonly DistanceLine[];
}

const spreadText = ({ p50Ms, p95Ms }: Spread) => `${Math.round(p50Ms)} / ${Math.round(p95Ms)}`;

export function renderDistances({ distances, lines }: DistanceReport): string {
  const columns = ["cold", "after a pause", "busy"];
  const header = [
    "endpoint",
    ...columns.map((column) => `separate, ${column}`),
    ...columns.map((column) => `compact, ${column}`),
    peerName,
    "its queries",
  ];
  const samples = lines[0]?.separate.cold.samples ?? 0;
  return `## Latency at a distance: p50 / p95, ms

Round trips of ${distances.object} ms to an object, ${distances.kv} ms to KV and ${distances.d1} ms to D1; ${peerName}, like ours, with its database at ${distances.d1} ms. Cold: the first request of an isolate,
when others have filled KV (${samples} isolates). After a pause: its leases have ended. Busy: one request after another. The last line is three requests in a row: a refresh, UserInfo and an introspection with the new
access token.

${table(
  header,
  lines.map(({ endpoint, separate, compact, peer }) => [
    endpoint,
    ...temperatures.map((temperature) => spreadText(separate[temperature])),
    ...temperatures.map((temperature) => spreadText(compact[temperature])),
    peer === undefined ? "–" : spreadText(peer),
    peer === undefined ? "–" : String(peer.queries),
  ]),
)}
`;
}
