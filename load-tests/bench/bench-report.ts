import type { Machine } from "../lib/circumstances.ts";
import type { DistanceReport } from "./distance-report.ts";
import type { Needs } from "./floors.ts";
import type { Measurement } from "./turns.ts";

export type SideName =
  | "own socket"
  | "front door"
  | "compact"
  | "floor, own socket"
  | "floor, front door"
  | "peer"
  /** The peer with durable records and JWTs as access tokens; `peer` has a `Map` and opaque tokens. */
  | "peer, like ours"
  | "own socket, direct"
  | "own socket, RS256";

export interface StoragePerRequest {
  readonly object: number;
  readonly kv: number;
  readonly d1: number;
}

export interface BenchLine {
  readonly endpoint: string;
  readonly needs: Needs;
  readonly sides: Readonly<Partial<Record<SideName, Measurement>>>;
  readonly storage: StoragePerRequest | undefined;
}

/** **The result of the bench**: a line per endpoint, with the sides that were loaded in turns. */
export interface BenchReport {
  readonly startedAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly pinned: boolean;
  /** The storage of the objects' rows: commits to a disk include its latency, commits to memory do not. */
  readonly storage: string;
  readonly lines: readonly BenchLine[];
  /** Absent in a quick run. */
  readonly distances?: DistanceReport | undefined;
}

/** The throughput of one side as a multiple of another's. */
export function ratioOf({ sides }: BenchLine, one: SideName, other: SideName): number | undefined {
  const [measured, base] = [sides[one], sides[other]];
  return measured && base && measured.perSecond / base.perSecond;
}

/** The CPU time per request as a multiple of another side's. Other work on the machine changes it less than throughput. */
export function cpuRatioOf({ sides }: BenchLine, one: SideName, other: SideName): number | undefined {
  const [cpu, base] = [sides[one]?.cpuMicros, sides[other]?.cpuMicros];
  return cpu === undefined || base === undefined ? undefined : cpu / base;
}

/** The ratios that a line must reach on one core, on its own socket, through the front door and in the compact Worker. */
export interface Mark {
  readonly endpoint: string;
  readonly beside: "floor" | "peer, like ours";
  readonly ratios: Readonly<Record<"own socket" | "front door" | "compact", number>>;
}

const everywhere = (ratio: number) => ({ "own socket": ratio, "front door": ratio, compact: ratio });

export const marks: readonly Mark[] = [
  { endpoint: "introspect", beside: "floor", ratios: everywhere(0.8) },
  { endpoint: "userinfo", beside: "floor", ratios: everywhere(0.8) },
  { endpoint: "exchange", beside: "floor", ratios: everywhere(0.75) },
  {
    endpoint: "client_credentials",
    beside: "peer, like ours",
    ratios: { "own socket": 2, "front door": 1.2, compact: 2 },
  },
  { endpoint: "refresh", beside: "peer, like ours", ratios: everywhere(1.5) },
  { endpoint: "discovery", beside: "floor", ratios: everywhere(0.85) },
  { endpoint: "jwks", beside: "floor", ratios: everywhere(0.85) },
];

/** The topologies, each with its floor: the compact Worker makes no hop, and a document is served by the front door itself. */
export function floorOf(topology: keyof Mark["ratios"], { needs }: Pick<BenchLine, "needs">): SideName {
  if (needs === "document") return "floor, front door";
  return topology === "front door" ? "floor, front door" : "floor, own socket";
}
