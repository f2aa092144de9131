import type { Machine } from "../report/run-record.ts";
import { peerName } from "./peer/start-peer.ts";
import type { Needs } from "./workloads.ts";

/** **The tables of the benchmark.** Every figure is shown with its ratio to the baseline that was measured minutes before. */
export interface Measurement {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Of the runtime, all its threads; absent where /proc is. */
  readonly cpuMicros: number | undefined;
}

export interface Floor extends Measurement {
  readonly topology: string;
  readonly work: string;
}

export interface StoragePerRequest {
  readonly object: number;
  readonly kv: number;
  readonly d1: number;
}

export interface BenchRow extends Measurement {
  readonly endpoint: string;
  readonly needs: Needs;
  readonly topology: string;
  readonly mode: string;
  readonly algorithm: "ES256" | "RS256";
  readonly storage: StoragePerRequest | undefined;
}

/** The peer, measured right after our own socket on the same core. */
export interface PeerRow extends Measurement {
  readonly endpoint: string;
}

export interface BenchReport {
  readonly startedAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly connections: number;
  readonly seconds: number;
  readonly pinned: boolean;
  /** Where the objects' rows were written: commits to a disk include its latency, commits to memory do not. */
  readonly storage: string;
  readonly floors: readonly Floor[];
  readonly rows: readonly BenchRow[];
  readonly peers: readonly PeerRow[];
}

const count = (value: number) => Math.round(value).toLocaleString("en-US");
const times = (value: number | undefined) => (value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(2));
const micros = (value: number | undefined) => (value === undefined ? "–" : count(value));

const floorWork: Readonly<Record<Needs, (algorithm: string) => string>> = {
  nothing: () => "none",
  signature: (algorithm) => `sign ${algorithm}`,
  "write and signature": (algorithm) => `write + sign ${algorithm}`,
};

/** A constant answer in the same topology, and the signature and the durable write that the endpoint cannot do without. */
export function floorOf(report: BenchReport, row: BenchRow): Floor | undefined {
  const work = floorWork[row.needs](row.algorithm);
  return report.floors.find((floor) => floor.topology === row.topology && floor.work === work);
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function floorsTable({ floors }: BenchReport): string {
  return table(
    ["floor", "topology", "requests/s", "p50 ms", "p99 ms", "CPU µs/request"],
    floors.map((floor) => [
      floor.work === "none" ? "constant" : `constant + ${floor.work}`,
      floor.topology,
      count(floor.perSecond),
      floor.p50Ms.toFixed(2),
      floor.p99Ms.toFixed(2),
      micros(floor.cpuMicros),
    ]),
  );
}

function rowsTable(report: BenchReport): string {
  const header = ["endpoint", "topology", "mode", "signature", "requests/s", "of floor", "p50 ms", "p95 ms", "p99 ms"];
  const perCore = (cpuMicros: number | undefined) => (cpuMicros === undefined ? "–" : count(1e6 / cpuMicros));
  return table(
    [...header, "CPU µs/request", "requests a core-second", "× floor's CPU", "object / KV / D1 calls"],
    report.rows.map((row) => {
      const floor = floorOf(report, row);
      const cpuRatio =
        row.cpuMicros === undefined || floor?.cpuMicros === undefined ? undefined : row.cpuMicros / floor.cpuMicros;
      const { storage } = row;
      return [
        row.endpoint,
        row.topology,
        row.mode,
        row.needs === "nothing" ? "none" : row.algorithm,
        count(row.perSecond),
        times(floor && row.perSecond / floor.perSecond),
        row.p50Ms.toFixed(2),
        row.p95Ms.toFixed(2),
        row.p99Ms.toFixed(2),
        micros(row.cpuMicros),
        perCore(row.cpuMicros),
        times(cpuRatio),
        storage === undefined
          ? "–"
          : `${storage.object.toFixed(3)} / ${storage.kv.toFixed(3)} / ${storage.d1.toFixed(3)}`,
      ];
    }),
  );
}

function comparison(report: BenchReport, of: (row: BenchRow) => string, first: string, second: string): string {
  const pairs = report.rows.flatMap((row) => {
    if (of(row) !== first) return [];
    const other = report.rows.find(
      (candidate) =>
        candidate.endpoint === row.endpoint && candidate.topology === row.topology && of(candidate) === second,
    );
    if (other === undefined) return [];
    return [
      [
        row.endpoint,
        row.topology,
        count(row.perSecond),
        count(other.perSecond),
        times(row.perSecond / other.perSecond),
      ],
    ];
  });
  return table(["endpoint", "topology", `${first}, requests/s`, `${second}, requests/s`, "ratio"], pairs);
}

const setting = ({ mode, algorithm }: BenchRow) => `${mode} ${algorithm}`;

function peerTable({ rows, peers }: BenchReport): string {
  const ours = (endpoint: string, topology: string) =>
    rows.find((row) => row.endpoint === endpoint && row.topology === topology && setting(row) === "strict ES256");
  return table(
    [
      "endpoint",
      `${peerName}, requests/s`,
      "CPU µs",
      "own socket, requests/s",
      "ratio",
      "front door, requests/s",
      "ratio",
    ],
    peers.map((peer) => [
      peer.endpoint,
      count(peer.perSecond),
      micros(peer.cpuMicros),
      ...["own socket", "front door"].flatMap((topology) => {
        const row = ours(peer.endpoint, topology);
        return row === undefined ? ["–", "–"] : [count(row.perSecond), times(row.perSecond / peer.perSecond)];
      }),
    ]),
  );
}

export function renderBench(report: BenchReport): string {
  const { machine } = report;
  return `# Bench

${report.startedAt}, commit ${report.commit}, ${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${report.connections} connections, ${report.seconds} s each${report.pinned ? ", runtime and generator on a core each" : ", runtime and generator share the cores"}, state on ${report.storage}.
Figures compare only within this run. "Of floor" is the share of the floor's throughput, and the floor of what signs has the signature, of what writes a bare durable write in an object. Where other
work shares the machine, requests/s falls for floor and endpoint alike or not; CPU per request, and the requests that a core-second of it makes, hardly do.

## Floors

${floorsTable(report)}

## Endpoints

${rowsTable(report)}

## Beside ${peerName}

On Node, on the same core, in the same run: its in-memory adapter, opaque tokens, nothing durable, nothing signed. Ours are the
rows of \`strict\` above: durable, revocation checked, client_credentials signed.

${peerTable(report)}

## strict against direct

${comparison(report, setting, "strict ES256", "direct ES256")}

## ES256 against RS256

${comparison(report, setting, "strict ES256", "strict RS256")}
`;
}
