/**
 * **`npm run bench`**: the throughput of one core: each endpoint at saturation on its own socket, through the front door and in the compact Worker,
 * the minimal Workers ("floors") and node-oidc-provider, loaded in turns, so that every figure is a ratio within one run.
 */

import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { readCommandLine } from "../lib/command-line.ts";
import { findRuntime, pinApart } from "../lib/process-time.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import type { ProviderOptions } from "../lib/start-provider.ts";
import { reportDirectory, writeReport } from "../lib/write-report.ts";
import type { BenchLine, BenchReport, SideName, StoragePerRequest } from "./bench-report.ts";
import { renderDistances } from "./distance-report.ts";
import { measureDistances } from "./distances.ts";
import { floorTarget, floorWorks, startFloors } from "./floors.ts";
import { runLoop } from "./loops.ts";
import { renderBench } from "./render-bench.ts";
import { type Peer, type PeerOptions, startPeer } from "./start-peer.ts";
import { lineText, tableHead } from "./terminal-table.ts";
import { type Measurement, measureInTurns, type Side } from "./turns.ts";
import { originOf, type Server, startServer, type Workload, wantedOf } from "./workloads.ts";

const usage = `npm run bench -- [options]

  --quick           one short turn of each, in about a minute; no other modes and shapes, no counts of storage calls, no distances
  --distances       only the latencies with stores at a distance; with --quick from two isolates each
  --isolates N      cold isolates for each of them (default 8)
  --only a,b        endpoints (default: all)
  --rounds N        turns of each side (default 5)
  --seconds N       of each turn (default 1.5)
  --connections N   with one request in flight each (default 32)
  --out DIR         for bench.json and bench.md (default: .op/bench/<time>)`;

const { values } = readCommandLine(usage, {
  quick: { type: "boolean", default: false },
  distances: { type: "boolean", default: false },
  isolates: { type: "string" },
  only: { type: "string", default: "" },
  rounds: { type: "string" },
  seconds: { type: "string" },
  connections: { type: "string", default: "32" },
  out: { type: "string" },
});
const { quick } = values;
const connections = Number(values.connections);
const turns = {
  connections,
  seconds: Number(values.seconds ?? (quick ? 0.5 : 1.5)),
  rounds: Number(values.rounds ?? (quick ? 1 : 5)),
  warmUpSeconds: quick ? 0.25 : 1.5,
};
/** `TMPFS_MAGIC` of Linux, <linux/magic.h>. */
const tmpfsMagic = 0x01021994;
let pinned = true;

/** Everything that was started and must be stopped. */
const started: { stop(): Promise<void> }[] = [];

async function start(options: Omit<ProviderOptions, "direct">): Promise<Server> {
  const server = await startServer(options, connections);
  started.push(server.provider);
  pinned = server.isPinned && pinned;
  return server;
}

type Floors = Omit<Server, "isPinned" | "workloads">;

async function startPinnedFloors(): Promise<Floors> {
  const provider = await startFloors();
  started.push(provider);
  const processId = findRuntime(provider.processId);
  pinned = pinApart(processId) && pinned;
  return { provider, processId };
}

interface Servers {
  readonly ours: Server;
  readonly floors: Floors;
  readonly peer: Peer;
  readonly peerLikeOurs: Peer;
  /** Present only in a complete run. */
  readonly compact: Server | undefined;
  readonly variants: Readonly<Partial<Record<"direct" | "RS256", Server>>>;
}

function sidesOf(
  { ours, compact, floors, peer, peerLikeOurs, variants }: Servers,
  workload: Workload,
): Map<SideName, Side> {
  const sides = new Map<SideName, Side>();
  const isDocument = workload.worker === "op";
  const at = ({ provider, processId }: Server, of: Workload, topology: "own socket" | "front door"): Side => ({
    target: of.target(originOf(provider, topology, of.worker)),
    processId,
  });
  if (!isDocument) sides.set("own socket", at(ours, workload, "own socket"));
  sides.set("front door", at(ours, workload, "front door"));
  // The compact Worker serves every path on its one socket, without a hop.
  const ofCompact = compact?.workloads.find(({ name }) => name === workload.name);
  if (compact !== undefined && ofCompact !== undefined) sides.set("compact", at(compact, ofCompact, "front door"));
  // Documents of the front door itself make no hop, so their floor is a Worker on its own socket.
  for (const topology of isDocument ? (["own socket"] as const) : (["own socket", "front door"] as const)) {
    const target = floorTarget(originOf(floors.provider, topology, "op-token"), workload.needs);
    sides.set(`floor, ${isDocument ? "front door" : topology}`, { target, processId: floors.processId });
  }
  for (const [side, { workloads, origin, processId }] of [
    ["peer", peer],
    ["peer, like ours", peerLikeOurs],
  ] as const) {
    const target = workloads.find((candidate) => candidate.name === workload.name)?.target(origin);
    if (target !== undefined) sides.set(side, { target, processId });
  }
  for (const [variant, server] of Object.entries(variants)) {
    const of = server.workloads.find(({ name }) => name === workload.name)!;
    if (isDocument || (variant === "RS256" && !workload.needs.includes("signature"))) continue;
    sides.set(`own socket, ${variant as keyof typeof variants}`, at(server, of, "own socket"));
  }
  return sides;
}

async function startPinnedPeer(options: PeerOptions = {}): Promise<Peer> {
  const peer = await startPeer(connections, options);
  started.push(peer);
  pinned = pinApart(peer.processId) && pinned;
  return peer;
}

/** Counts storage calls with a separate provider under the same load, because reporting the counts costs time. */
async function countStorage(): Promise<Map<string, StoragePerRequest>> {
  const { provider, workloads } = await start({ vars: { SERVER_TIMING: "true" } });
  const counted = new Map<string, StoragePerRequest>();
  for (const workload of wantedOf(workloads, values.only)) {
    const target = workload.target(provider.origin);
    await runLoop(target, connections, 1);
    const total = { object: 0, kv: 0, d1: 0 };
    const onHead = (head: string) => {
      const calls = readServerTiming(/server-timing: ([^\r]*)/.exec(head)?.[1]);
      if (calls === undefined) throw new Error(`${workload.name} shows no storage calls`);
      for (const store of ["object", "kv", "d1"] as const) total[store] += calls[store];
    };
    const { requests } = await runLoop({ ...target, onHead }, connections, 2);
    counted.set(workload.name, { object: total.object / requests, kv: total.kv / requests, d1: total.d1 / requests });
  }
  await provider.stop();
  return counted;
}

/** For quick runs: endpoints that need the same work have the same floor. */
const measuredFloors = new Map<string, Measurement>();

async function measure(sides: Map<SideName, Side>, { needs }: Workload): Promise<Map<SideName, Measurement>> {
  if (!quick) return measureInTurns(sides, turns);
  const nameOf = (side: SideName) => `${side}, ${floorWorks[needs]}`;
  const known = [...sides.keys()].filter((side) => measuredFloors.has(nameOf(side)));
  for (const side of known) sides.delete(side);
  const measured = await measureInTurns(sides, turns);
  for (const [side, measurement] of measured) {
    if (side.startsWith("floor")) measuredFloors.set(nameOf(side), measurement);
  }
  for (const side of known) measured.set(side, measuredFloors.get(nameOf(side))!);
  return measured;
}

async function measureEndpoints(): Promise<BenchLine[]> {
  console.log("Starts the provider, the floors and node-oidc-provider …");
  const storage = quick ? new Map<string, StoragePerRequest>() : await countStorage();
  const [ours, floors] = await Promise.all([start({}), startPinnedFloors()]);
  const [peer, peerLikeOurs] = await Promise.all([startPinnedPeer(), startPinnedPeer({ likeOurs: true })]);
  const compact = quick ? undefined : await start({ shape: "compact" });
  const variants = quick
    ? {}
    : {
        direct: await start({ vars: { REVOCATION_MODE: "direct" } }),
        RS256: await start({ vars: { ACCESS_TOKEN_ALG: "RS256" } }),
      };
  const servers = { ours, compact, floors, peer, peerLikeOurs, variants };
  const lines: BenchLine[] = [];
  console.log(`\n${tableHead}`);
  for (const workload of wantedOf(ours.workloads, values.only)) {
    const measured = await measure(sidesOf(servers, workload), workload);
    lines.push({
      endpoint: workload.name,
      needs: workload.needs,
      sides: Object.fromEntries(measured),
      storage: storage.get(workload.name),
    });
    console.log(lineText(lines.at(-1)!));
  }
  return lines;
}

/** The CPU of other servers would add to the latencies. */
async function stopAll(): Promise<void> {
  for (const server of started.splice(0)) await server.stop();
}

try {
  const startedAt = new Date();
  const lines = values.distances ? [] : await measureEndpoints();
  await stopAll();
  const isolates = Number(values.isolates ?? (quick ? 2 : 8));
  const distances =
    quick && !values.distances
      ? undefined
      : await measureDistances({ isolates, busySeconds: turns.seconds, only: values.only, say: console.log });
  if (distances !== undefined) console.log(`\n${renderDistances(distances)}`);
  const report: BenchReport = {
    startedAt: startedAt.toISOString(),
    commit: describeCommit(),
    machine: describeMachine(),
    connections,
    seconds: turns.seconds,
    rounds: turns.rounds,
    pinned,
    storage: statfsSync(tmpdir()).type === tmpfsMagic ? "tmpfs" : "disk",
    lines,
    distances,
  };
  const directory = values.out ?? reportDirectory("bench", startedAt);
  console.log(`\n${writeReport(directory, "bench", report, renderBench(report))}`);
} finally {
  await stopAll();
}
