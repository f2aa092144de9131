import type { Machine } from "../lib/circumstances.ts";
import type { Needs } from "./floors.ts";
import type { Measurement } from "./turns.ts";

export type SideName =
  | "own socket"
  | "front door"
  | "compact"
  | "floor, own socket"
  | "floor, front door"
  | "peer"
  /** The peer's client_credentials as an ES256 JWT; `peer` issues opaque tokens. */
  | "peer, signed"
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
