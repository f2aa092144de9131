import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { loadTestsRoot } from "../lib/find-k6.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import { type ProviderOptions, type StartedProvider, startProvider } from "../lib/start-provider.ts";
import type { BenchLine, BenchReport, SideName, StoragePerRequest } from "./bench-report.ts";
import { runLoop } from "./closed-loop.ts";
import { pinApart } from "./measure-process.ts";
import type { Measurement } from "./measurement.ts";
import { type Peer, signedClientCredentials, startPeer } from "./peer/start-peer.ts";
import { findRuntime } from "./process-time.ts";
import { renderBench } from "./render-bench.ts";
import { lineText, tableHead } from "./terminal-table.ts";
import { measureInTurns, type Side } from "./turns.ts";
import { floorTarget, floorWorks, originOf, prepareWorkloads, type Workload, wantedOf } from "./workloads.ts";

/**
 * **`npm run bench`**: the throughput of one core: each endpoint at saturation on its own socket, through the front door and in the compact Worker, the
 * minimal Workers ("floors") and node-oidc-provider, loaded in turns, so that every figure is a ratio within one run.
 */
const usage = `npm run bench -- [options]

  --quick           one short turn of each, in about a minute; no other modes and shapes, no counts of storage calls
  --only a,b        endpoints (default: all)
  --rounds N        turns of each side (default 5)
  --seconds N       of each turn (default 1.5)
  --connections N   with one request in flight each (default 32)
  --out DIR         for bench.json and bench.md`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    connections: { type: "string", default: "32" },
    out: { type: "string", default: join(loadTestsRoot, "..", ".op", "bench") },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const { quick } = values;
const connections = Number(values.connections);
const turns = {
  loop: { connections, seconds: Number(values.seconds ?? (quick ? 0.5 : 1.5)) },
  rounds: Number(values.rounds ?? (quick ? 1 : 5)),
  warmUpSeconds: quick ? 0.25 : 1.5,
};
/** Linux, <linux/magic.h>. */
const tmpfsMagic = 0x01021994;
const state = mkdtempSync(join(tmpdir(), "edge-op-bench-"));
let pinned = true;

interface Server {
  readonly provider: StartedProvider;
  readonly processId: number | undefined;
}

/** Stops everything that was started. */
const started: { stop(): Promise<void> }[] = [];

async function start(options: Omit<ProviderOptions, "direct">): Promise<Server> {
  const provider = await startProvider({ ...options, direct: true });
  started.push(provider);
  const processId = findRuntime(provider.processId);
  pinned = pinApart(processId) && pinned;
  return { provider, processId };
}

function startFloors(): Promise<Server> {
  const entryPoints = {
    "op-token": join(import.meta.dirname, "floor", "floor-worker.ts"),
    "op-state": join(import.meta.dirname, "floor", "floor-objects.ts"),
  };
  return start({ entryPoints });
}

/** With the workloads of its own data. */
interface SeededServer extends Server {
  readonly workloads: readonly Workload[];
}

interface Servers {
  readonly ours: Server;
  /** Only in a whole run. */
  readonly compact: SeededServer | undefined;
  readonly floors: Server;
  readonly peer: Peer;
  /** Only in a whole run. */
  readonly variants: readonly (SeededServer & { readonly name: "direct" | "RS256" })[];
}

function sidesOf({ ours, compact, floors, peer, variants }: Servers, workload: Workload): Map<SideName, Side> {
  const sides = new Map<SideName, Side>();
  const isDocument = workload.worker === "op";
  const at = ({ provider, processId }: Server, of: Workload, topology: "own socket" | "front door"): Side => ({
    target: of.target(originOf(provider, topology, of.worker)),
    processId,
  });
  if (!isDocument) sides.set("own socket", at(ours, workload, "own socket"));
  sides.set("front door", at(ours, workload, "front door"));
  // Its one socket serves every path, without a hop.
  const ofCompact = compact?.workloads.find(({ name }) => name === workload.name);
  if (compact !== undefined && ofCompact !== undefined) sides.set("compact", at(compact, ofCompact, "front door"));
  // What the front door itself serves makes no hop: its floor is a Worker on a socket of its own.
  for (const topology of isDocument ? (["own socket"] as const) : (["own socket", "front door"] as const)) {
    const target = floorTarget(originOf(floors.provider, topology, "op-token"), workload.needs);
    sides.set(`floor, ${isDocument ? "front door" : topology}`, { target, processId: floors.processId });
  }
  for (const [side, name] of [
    ["peer", workload.name],
    ["peer, signed", workload.name === "client_credentials" ? signedClientCredentials : ""],
  ] as const) {
    const target = peer.workloads.find((candidate) => candidate.name === name)?.target(peer.origin);
    if (target !== undefined) sides.set(side, { target, processId: peer.processId });
  }
  for (const variant of variants) {
    const of = variant.workloads.find(({ name }) => name === workload.name)!;
    if (isDocument || (variant.name === "RS256" && !workload.needs.includes("signature"))) continue;
    sides.set(`own socket, ${variant.name}`, at(variant, of, "own socket"));
  }
  return sides;
}

/** Showing the counts costs, so they are taken under the same load from a provider of their own. */
async function countStorage(): Promise<Map<string, StoragePerRequest>> {
  const { provider } = await start({ vars: { SERVER_TIMING: "true" } });
  const counted = new Map<string, StoragePerRequest>();
  for (const workload of wantedOf(
    await prepareWorkloads(provider, join(state, "count.json"), connections),
    values.only,
  )) {
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

/** Of quick runs: a floor is the same for every endpoint that needs the same work. */
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

async function startSeeded<Name extends string>(name: Name, options: Omit<ProviderOptions, "direct">) {
  const server = await start(options);
  return {
    ...server,
    name,
    workloads: await prepareWorkloads(server.provider, join(state, `${name}.json`), connections),
  };
}

try {
  const startedAt = new Date();
  console.log("Starts the provider, the floors and node-oidc-provider …");
  const storage = quick ? new Map<string, StoragePerRequest>() : await countStorage();
  const [peer, ours, floors] = await Promise.all([startPeer(connections), startSeeded("ours", {}), startFloors()]);
  started.push(peer);
  pinned = pinApart(peer.processId) && pinned;
  const compact = quick ? undefined : await startSeeded("compact", { shape: "compact" });
  const variants = quick
    ? []
    : [
        await startSeeded("direct", { vars: { REVOCATION_MODE: "direct" } }),
        await startSeeded("RS256", { vars: { ACCESS_TOKEN_ALG: "RS256" } }),
      ];
  const servers = { ours, compact, floors, peer, variants };
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
  const report: BenchReport = {
    startedAt: startedAt.toISOString(),
    commit: describeCommit(),
    machine: describeMachine("", "http://localhost"),
    connections,
    seconds: turns.loop.seconds,
    rounds: turns.rounds,
    pinned,
    storage: statfsSync(tmpdir()).type === tmpfsMagic ? "tmpfs" : "disk",
    lines,
  };
  const directory = join(values.out, startedAt.toISOString().replaceAll(/[:.]/g, "-"));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "bench.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(directory, "bench.md"), renderBench(report));
  console.log(`\n${join(directory, "bench.md")}`);
} finally {
  for (const server of started) await server.stop();
  rmSync(state, { recursive: true, force: true });
}
