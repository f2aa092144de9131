/** **The tables of the benchmark**, in Markdown. All figures of a line are from the same turns. */

import { table } from "../lib/format.ts";
import { type BenchLine, type BenchReport, cpuRatioOf, ratioOf, type SideName } from "./bench-report.ts";
import { floorWorks } from "./floors.ts";
import { peerName } from "./start-peer.ts";

const count = (value: number | undefined) => (value === undefined ? "–" : Math.round(value).toLocaleString("en-US"));
const times = (value: number | undefined) => (value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(2));
const ms = (value: number | undefined) => (value === undefined ? "–" : value.toFixed(1));

/** The topologies, each with its floor; the compact Worker makes no hop either. */
const topologies = [
  ["own socket", "floor, own socket"],
  ["front door", "floor, front door"],
  ["compact", "floor, own socket"],
] as const;

function ratios({ lines }: BenchReport): string {
  const header = ["endpoint", "floor", ...topologies.map(([name]) => `${name}, of its floor`)];
  return table(
    [...header, ...topologies.map(([name]) => `${name}, × ${peerName}`), "CPU: × floor's", `CPU: × ${peerName}'s`],
    lines.map((line) => [
      line.endpoint,
      floorWorks[line.needs],
      ...topologies.map(([name, floor]) => times(ratioOf(line, name, floor))),
      ...topologies.map(([name]) => times(ratioOf(line, name, "peer"))),
      topologies.map(([name, floor]) => times(cpuRatioOf(line, name, floor))).join(" / "),
      topologies.map(([name]) => times(cpuRatioOf(line, name, "peer"))).join(" / "),
    ]),
  );
}

const measuredSides = [
  "own socket",
  "front door",
  "compact",
  "floor, own socket",
  "floor, front door",
  "peer",
] as const;

function figures({ lines }: BenchReport, of: (line: BenchLine, side: SideName) => string): string {
  return table(
    ["endpoint", ...measuredSides.map((side) => (side === "peer" ? peerName : side))],
    lines.map((line) => [line.endpoint, ...measuredSides.map((side) => of(line, side))]),
  );
}

function variants({ lines }: BenchReport): string {
  const rows = lines.flatMap((line) =>
    (["own socket, direct", "own socket, RS256", "peer, signed"] as const)
      .filter((side) => line.sides[side] !== undefined)
      .map((side) => [
        line.endpoint,
        side === "peer, signed" ? `${peerName}, ES256 JWT` : side,
        count(line.sides[side]?.perSecond),
        count(line.sides["own socket"]?.perSecond),
        times(ratioOf(line, "own socket", side)),
      ]),
  );
  return table(["endpoint", "other", "other: requests/s", "own socket: requests/s", "ratio"], rows);
}

function storage({ lines }: BenchReport): string {
  return table(
    ["endpoint", "object calls", "KV", "D1"],
    lines.flatMap((line) =>
      line.storage === undefined
        ? []
        : [
            [
              line.endpoint,
              ...[line.storage.object, line.storage.kv, line.storage.d1].map((calls) => calls.toFixed(3)),
            ],
          ],
    ),
  );
}

export function renderBench(report: BenchReport): string {
  const { machine } = report;
  return `# Bench

${report.startedAt}, commit ${report.commit}, ${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${report.connections} connections, ${report.rounds} turns of ${report.seconds} s each${report.pinned ? ", servers on one core and the generator on another" : ", servers and generator share the cores"}, state on ${report.storage}.

The servers of a line are loaded in turns; the figures are medians. They compare only within this run. The floor is a Worker that sends a
constant response as large as a real one after the stated work. ${peerName} has its records in a \`Map\`: opaque tokens, nothing durable,
nothing signed that was not requested. Ours are durable, revocation is checked, and every access token is signed.

## Ratios

${ratios(report)}

## Requests per second

${figures(report, ({ sides }, side) => count(sides[side]?.perSecond))}

## CPU of a request, µs

${figures(report, ({ sides }, side) => count(sides[side]?.cpuMicros))}

## Latency at saturation: p50 / p95 / p99 / longest, ms

${figures(report, ({ sides }, side) => {
  const measured = sides[side];
  if (measured === undefined) return "–";
  return [measured.p50Ms, measured.p95Ms, measured.p99Ms, measured.maxMs].map(ms).join(" / ");
})}

## Other modes

${variants(report)}

## Storage calls of a request

${storage(report)}
`;
}
