/** **The tables of the benchmark**, in Markdown. All figures of a line are from the same turns. */

import { table } from "../lib/format.ts";
import {
  type BenchLine,
  type BenchReport,
  cpuRatioOf,
  floorOf,
  marks,
  ratioOf,
  type SideName,
} from "./bench-report.ts";
import { renderDistances } from "./distance-report.ts";
import { floorWorks } from "./floors.ts";
import { peerName } from "./start-peer.ts";

const count = (value: number | undefined) => (value === undefined ? "–" : Math.round(value).toLocaleString("en-US"));
const times = (value: number | undefined) => (value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(2));
const ms = (value: number | undefined) => (value === undefined ? "–" : value.toFixed(1));

const topologies = ["own socket", "front door", "compact"] as const;

function besideFloor({ lines }: BenchReport): string {
  return table(
    ["endpoint", "floor", ...topologies, "CPU: × floor's"],
    lines.map((line) => [
      line.endpoint,
      floorWorks[line.needs],
      ...topologies.map((name) => times(ratioOf(line, name, floorOf(name, line)))),
      topologies.map((name) => times(cpuRatioOf(line, name, floorOf(name, line)))).join(" / "),
    ]),
  );
}

function besidePeer(report: BenchReport, peer: "peer" | "peer, like ours"): string {
  return table(
    ["endpoint", ...topologies, `CPU: × ${peerName}'s`],
    report.lines
      .filter(({ sides }) => sides[peer] !== undefined)
      .map((line) => [
        line.endpoint,
        ...topologies.map((name) => times(ratioOf(line, name, peer))),
        topologies.map((name) => times(cpuRatioOf(line, name, peer))).join(" / "),
      ]),
  );
}

function besideMarks({ lines }: BenchReport): string {
  const rows = marks.flatMap(({ endpoint, beside, ratios }) => {
    const line = lines.find((candidate) => candidate.endpoint === endpoint);
    if (line === undefined) return [];
    const cells = topologies.map((name) => {
      const ratio = ratioOf(line, name, beside === "floor" ? floorOf(name, line) : beside);
      return ratio === undefined ? "–" : `${times(ratio)} ${ratio >= ratios[name] ? "≥" : "<"} ${ratios[name]}`;
    });
    return [[endpoint, beside === "floor" ? "floor" : `${peerName}, like ours`, ...cells]];
  });
  return table(["endpoint", "beside", ...topologies], rows);
}

const measuredSides = [
  "own socket",
  "front door",
  "compact",
  "floor, own socket",
  "floor, front door",
  "peer",
  "peer, like ours",
] as const;

const titles: Readonly<Partial<Record<SideName, string>>> = {
  peer: `${peerName}, in memory`,
  "peer, like ours": `${peerName}, like ours`,
};

function figures({ lines }: BenchReport, of: (line: BenchLine, side: SideName) => string): string {
  return table(
    ["endpoint", ...measuredSides.map((side) => titles[side] ?? side)],
    lines.map((line) => [line.endpoint, ...measuredSides.map((side) => of(line, side))]),
  );
}

function variants({ lines }: BenchReport): string {
  const rows = lines.flatMap((line) =>
    (["own socket, direct", "own socket, RS256"] as const)
      .filter((side) => line.sides[side] !== undefined)
      .map((side) => [
        line.endpoint,
        side,
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
  const { distances, machine } = report;
  const parts = [
    `# Bench

${report.startedAt}, commit ${report.commit}, ${machine.cpu}, ${machine.cores} cores, ${machine.system}, ${report.connections} connections, ${report.rounds} turns of ${report.seconds} s each${report.pinned ? ", servers on one core and the generator on another" : ", servers and generator share the cores"}, state on ${report.storage}.
`,
    ...(report.lines.length === 0 ? [] : [renderThroughput(report)]),
    ...(distances === undefined ? [] : [renderDistances(distances)]),
  ];
  return parts.join("\n");
}

function renderThroughput(report: BenchReport): string {
  return `The servers of a line are loaded in turns, each one process on one core; the figures are medians. They compare only within this run. The floor is a
Worker that sends a constant response as large as a real one after the stated work. Ours are durable, revocation is checked, and every access token is a
signed JWT.

## Ratios to the floor

${besideFloor(report)}

## Ratios to ${peerName}, like ours

Its records, clients included, are in SQLite (\`node:sqlite\`, WAL, \`synchronous=FULL\`), and the access tokens that it issues are ES256 JWTs. It does not introspect a JWT, and its UserInfo refuses one with an audience,
so these two lines are of opaque tokens, found in SQLite. Accounts are in its memory.

${besidePeer(report, "peer, like ours")}

## Ratios to ${peerName}, in memory

Its records are in a \`Map\`: opaque tokens, nothing durable, nothing signed that was not requested.

${besidePeer(report, "peer")}

## Marks

${besideMarks(report)}

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
