import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeCommit, describeMachine } from "../lib/circumstances.ts";
import { loadTestsRoot } from "../lib/find-k6.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import { type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { runLoop, type Target } from "./closed-loop.ts";
import { measureProcess, pinApart } from "./measure-process.ts";
import { type Peer, peerName, startPeer } from "./peer/start-peer.ts";
import { findRuntime } from "./process-time.ts";
import {
  type BenchReport,
  type Floor,
  type Measurement,
  type PeerRow,
  renderBench,
  type StoragePerRequest,
} from "./render-bench.ts";
import { floorTarget, originOf, prepareWorkloads, topologies, wantedOf } from "./workloads.ts";

/**
 * **`npm run bench`**: the throughput of one core: each endpoint at saturation through the front door and on a socket of its own,
 * `direct` against `strict`, ES256 against RS256, and the minimal-Worker baselines ("floors") that every figure is compared with.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "32" },
    port: { type: "string" },
    only: { type: "string", default: "" },
    out: { type: "string", default: join(loadTestsRoot, "..", ".op", "bench") },
  },
});
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const loop = { connections, seconds, warmUpSeconds: Math.min(2, seconds) };
/** Linux, <linux/magic.h>. */
const tmpfsMagic = 0x01021994;
const state = mkdtempSync(join(tmpdir(), "edge-op-bench-"));
let pinned = false;

async function withProvider<T>(
  name: string,
  vars: Readonly<Record<string, string>>,
  entryPoints: Readonly<Record<string, string>>,
  use: (provider: StartedProvider) => Promise<T>,
): Promise<T> {
  const port = values.port === undefined ? {} : { port: Number(values.port) };
  const provider = await startProvider({ ...port, vars, direct: true, entryPoints });
  try {
    pinned = pinApart(findRuntime(provider.processId));
    console.log(`${name}: ${provider.origin}`);
    return await use(provider);
  } finally {
    await provider.stop();
  }
}

/** Before anything of a process is measured: the runtime goes on compiling for some seconds, at the cost of whatever comes first. */
async function heat(targets: readonly Target[]): Promise<void> {
  for (const target of targets) await runLoop(target, connections, seconds * 1.5);
}

async function measure(provider: StartedProvider, target: Target): Promise<Measurement> {
  return measureProcess(findRuntime(provider.processId), target, loop);
}

const floorWorks = [
  "none",
  ...["verify", "sign", "write + sign"].flatMap((work) => [`${work} ES256`, `${work} RS256`]),
];

async function measureFloors(): Promise<Floor[]> {
  const entryPoints = {
    "op-token": join(import.meta.dirname, "floor", "floor-worker.ts"),
    "op-state": join(import.meta.dirname, "floor", "floor-objects.ts"),
  };
  return withProvider("floors", {}, entryPoints, async (provider) => {
    const floors: Floor[] = [];
    const targetOf = (topology: (typeof topologies)[number], work: string) =>
      floorTarget(originOf(provider, topology, "op-token"), "/token", work);
    await heat(["none", "write + sign ES256"].map((work) => targetOf("front door", work)));
    for (const topology of topologies) {
      for (const work of floorWorks) {
        const target = targetOf(topology, work);
        floors.push({ topology, work, ...(await measure(provider, target)) });
        say(`floor ${work}, ${topology}`, floors.at(-1)!);
      }
    }
    return floors;
  });
}

function say(name: string, { perSecond, p99Ms, cpuMicros }: Measurement): void {
  const cpu = cpuMicros === undefined ? "" : `, ${Math.round(cpuMicros)} µs CPU`;
  console.log(
    `  ${name.padEnd(48)} ${Math.round(perSecond).toLocaleString("en-US").padStart(7)}/s, p99 ${p99Ms.toFixed(1)} ms${cpu}`,
  );
}

interface Setting {
  readonly mode: "strict" | "direct";
  readonly algorithm: "ES256" | "RS256";
}

function varsOf({ mode, algorithm }: Setting): Record<string, string> {
  return { REVOCATION_MODE: mode, ACCESS_TOKEN_ALG: algorithm };
}

/** In RS256 only what signs is worth measuring again; tokens are verified once and cached. */
const settings: readonly Setting[] = [
  { mode: "strict", algorithm: "ES256" },
  { mode: "direct", algorithm: "ES256" },
  { mode: "strict", algorithm: "RS256" },
];

async function measureSetting(setting: Setting, peer: PeerMeter | undefined): Promise<BenchReport["rows"]> {
  const name = `${setting.mode}, ${setting.algorithm}`;
  const storage = await countStorage(setting);
  return withProvider(name, varsOf(setting), {}, async (provider) => {
    const workloads = await prepareWorkloads(provider, join(state, `${name}.json`), connections);
    const rows: BenchReport["rows"][number][] = [];
    const wanted = wantedOf(workloads, values.only);
    await heat(wanted.map((workload) => workload.target(provider.origin)));
    for (const workload of wanted) {
      if (setting.algorithm === "RS256" && workload.needs === "nothing") continue;
      for (const topology of topologies) {
        const measured = await measure(provider, workload.target(originOf(provider, topology, workload.worker)));
        rows.push({
          endpoint: workload.name,
          needs: workload.needs,
          topology,
          ...setting,
          ...measured,
          storage: storage.get(workload.name),
        });
        say(`${workload.name}, ${topology}`, measured);
      }
      await peer?.(workload.name);
    }
    return rows;
  });
}

type PeerMeter = (name: string) => Promise<void>;

async function measurePeer(peer: Peer, name: string, into: PeerRow[]): Promise<void> {
  const target = peer.workloads.find((workload) => workload.name === name)?.target(peer.origin);
  if (target === undefined) return;
  const measured = await measureProcess(peer.processId, target, loop);
  into.push({ endpoint: name, ...measured });
  say(`${name}, ${peerName}`, measured);
}

/** Showing the counts costs, so they are taken under the same load from a provider of their own. */
async function countStorage(setting: Setting): Promise<Map<string, StoragePerRequest>> {
  const vars = { ...varsOf(setting), SERVER_TIMING: "true" };
  return withProvider(`${setting.mode}, ${setting.algorithm}: counting calls`, vars, {}, async (provider) => {
    const counted = new Map<string, StoragePerRequest>();
    for (const workload of await prepareWorkloads(
      provider,
      join(state, `count-${setting.mode}-${setting.algorithm}.json`),
      connections,
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
    return counted;
  });
}

try {
  const startedAt = new Date();
  const floors = await measureFloors();
  const rows: BenchReport["rows"][number][] = [];
  const peers: PeerRow[] = [];
  const peer = await startPeer();
  try {
    pinApart(peer.processId);
    // Its adapter holds 1,000 entries: more tokens would push out the ones that it is to be asked about.
    const harmless = wantedOf(peer.workloads, values.only).filter(({ needs }) => needs === "nothing");
    await heat(harmless.map((workload) => workload.target(peer.origin)));
    for (const setting of settings) {
      const isFirst = setting === settings[0];
      rows.push(...(await measureSetting(setting, isFirst ? (name) => measurePeer(peer, name, peers) : undefined)));
    }
  } finally {
    await peer.stop();
  }
  const report: BenchReport = {
    startedAt: startedAt.toISOString(),
    commit: describeCommit(),
    machine: describeMachine("", "http://localhost"),
    connections,
    seconds,
    pinned,
    storage: statfsSync(tmpdir()).type === tmpfsMagic ? "tmpfs" : "disk",
    floors,
    rows,
    peers,
  };
  const directory = join(values.out, startedAt.toISOString().replaceAll(/[:.]/g, "-"));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "bench.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(directory, "bench.md"), renderBench(report));
  console.log(`\n${renderBench(report)}\n${join(directory, "bench.md")}`);
} finally {
  rmSync(state, { recursive: true, force: true });
}
