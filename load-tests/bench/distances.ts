import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readServerTiming } from "../lib/server-timing.ts";
import { type ProviderOptions, type StartedProvider, startProvider } from "../lib/start-provider.ts";
import { Connection, type Target } from "./connection.ts";
import { type DistanceLine, type DistanceReport, type Spread, spreadOf, type Temperatures } from "./distance-report.ts";
import { startPeer } from "./start-peer.ts";
import { prepareSeeds, type Workload, type WorkloadSeeds, wantedOf, workloadsOf } from "./workloads.ts";

export interface DistanceOptions {
  /** Further isolates of each Worker, whose first request is measured: one sample each. */
  readonly isolates: number;
  /** How long a busy isolate is measured. */
  readonly busySeconds: number;
  /** Names of workloads; empty means all. */
  readonly only: string;
  readonly say: (line: string) => void;
}

const distances = { object: 80, kv: 30, d1: 80 } as const;
/** Longer than a lease and the time in which it is released. */
const pauseMs = 3_300;
/** An isolate asks a shard for a lease at the second request within a lease: the requests of different users reach all eight shards twice. */
const warmUpRequests = 64;
/** As many tokens of different grants reach nearly every shard. */
const tokensOfShards = 40;
const measuredNames = ["introspect", "userinfo", "exchange", "client_credentials", "refresh"];
const journeyName = "refresh, UserInfo, introspection";
const withIdToken = "refresh, ES256 ID token";

type OriginOf = (worker: Workload["worker"]) => string;

/** One request or several in a row, each on a connection of its own, so that no connection is older than its isolate. */
interface Steps {
  readonly name: string;
  /** The requests of an isolate are of one user, except those of the first one. */
  send(originOf: OriginOf, isolate: number): Promise<void>;
}

/**
 * **Latencies with stores at a distance** (docs/operating/shapes.md): of the first request of an isolate, of one after a pause, and of a busy
 * isolate; in both shapes, each sample at an isolate of its own; beside node-oidc-provider, like ours, with a database as far away as D1.
 */
export async function measureDistances(options: DistanceOptions): Promise<DistanceReport> {
  const separate = await measureShape("separate", options);
  const compact = await measureShape("compact", options);
  const peer = await measurePeer(options);
  const lines = [...separate].map(
    ([endpoint, spreads]): DistanceLine => ({
      ...{ endpoint, separate: spreads, compact: compact.get(endpoint)! },
      peer: peer.get(endpoint),
    }),
  );
  return { distances, lines };
}

async function measureShape(
  shape: "separate" | "compact",
  options: DistanceOptions,
): Promise<Map<string, Temperatures>> {
  const stateDir = mkdtempSync(join(tmpdir(), "bench-distances-"));
  const common: ProviderOptions = { shape, stateDir, direct: true };
  try {
    const { seeds, port } = await within(startProvider(common), async (provider) => ({
      seeds: await prepareSeeds(provider, options.isolates + 1),
      port: Number(new URL(provider.origin).port),
    }));
    const all = new Map<string, Temperatures>();
    for (const steps of stepsOf(seeds, options.only)) {
      // Each starts its isolates again, with the state of the ones before.
      const started = startProvider({ ...common, port, extraIsolates: options.isolates, distances });
      const measure = (provider: StartedProvider) => measureSteps(provider, { steps, seeds }, options);
      all.set(steps.name, await within(started, measure));
      options.say(`${shape}, ${steps.name}`);
    }
    return all;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function within<T>(
  starting: Promise<StartedProvider>,
  work: (provider: StartedProvider) => Promise<T>,
): Promise<T> {
  const provider = await starting;
  try {
    return await work(provider);
  } finally {
    await provider.stop();
  }
}

async function measureSteps(
  { direct }: StartedProvider,
  { steps, seeds }: { readonly steps: Steps; readonly seeds: WorkloadSeeds },
  { isolates, busySeconds }: DistanceOptions,
): Promise<Temperatures> {
  const timed = async (isolate: number): Promise<number> => {
    const startedAt = performance.now();
    await steps.send((worker) => direct[isolate === 0 ? worker : `${worker}#${isolate + 1}`]!, isolate);
    return performance.now() - startedAt;
  };
  const numbers = Array.from({ length: isolates }, (_, index) => index + 1);
  const eachInTurn = async () => {
    const latencies: number[] = [];
    for (const isolate of numbers) latencies.push(await timed(isolate));
    return spreadOf(latencies);
  };
  // Starts the objects, and fills KV.
  for (let time = 0; time < 20; time += 1) await timed(0);
  await useShards(seeds, direct);
  const cold = await eachInTurn();
  for (let time = 0; time < 2; time += 1) await eachInTurn();
  await sleep(pauseMs);
  const afterPause = await eachInTurn();
  return { cold, afterPause, busy: await measureBusy(() => timed(0), busySeconds) };
}

/** Other requests use every shard: one that nobody has used for ten seconds calls `ControlPlane` before it answers. */
async function useShards(seeds: WorkloadSeeds, direct: StartedProvider["direct"]): Promise<void> {
  const { target, worker } = byName(workloadsOf(seeds)).get("introspect")!;
  const uses = Array.from({ length: tokensOfShards }, () => sendOnce(target(direct[worker]!), 0));
  await Promise.all(uses);
}

/** Latencies of the first isolate, with one request after the other, once it holds its leases. */
async function measureBusy(send: () => Promise<number>, seconds: number): Promise<Spread> {
  for (let time = 0; time < warmUpRequests; time += 1) await send();
  const latencies: number[] = [];
  const untilMs = performance.now() + seconds * 1_000;
  while (performance.now() < untilMs) latencies.push(await send());
  return spreadOf(latencies);
}

function stepsOf(seeds: WorkloadSeeds, only: string): Steps[] {
  const ofIsolate = new Map<number, Map<string, Workload>>();
  const workloadsOfIsolate = (isolate: number) => {
    const { tokens } = seeds;
    const own = isolate === 0 ? tokens : [tokens[isolate % tokens.length]!];
    const known = ofIsolate.get(isolate) ?? byName(workloadsOf({ ...seeds, tokens: own }));
    ofIsolate.set(isolate, known);
    return known;
  };
  const single = measuredNames.map((name): Steps => {
    return {
      name,
      send: async (originOf, isolate) => {
        const workload = workloadsOfIsolate(isolate).get(name)!;
        await sendOnce(workload.target(originOf(workload.worker)), isolate);
      },
    };
  });
  const names = [...byName(wantedOf(workloadsOf(seeds), only)).keys()];
  return [...single.filter(({ name }) => names.includes(name)), ...(only === "" ? [journeyOf(seeds)] : [])];
}

/** The requests of an application and its API for a user who returns: each has the access token of the first. */
function journeyOf(seeds: WorkloadSeeds): Steps {
  const introspecting = seeds.refresh.es256.client;
  return {
    name: journeyName,
    send: async (originOf, isolate) => {
      const tokens: string[] = [];
      const clients = { ...seeds.clients, introspecting };
      const workloads = byName(workloadsOf({ clients, refresh: seeds.refresh, tokens }));
      for (const name of [withIdToken, "userinfo", "introspect"]) {
        const { target, worker } = workloads.get(name)!;
        const { check, ...rest } = target(originOf(worker));
        await sendOnce(
          {
            ...rest,
            check: (connection, status, body) => {
              check(connection, status, body);
              if (name === withIdToken) tokens.push((JSON.parse(body) as { access_token: string }).access_token);
            },
          },
          isolate,
        );
      }
    },
  };
}

function byName(workloads: readonly Workload[]): Map<string, Workload> {
  return new Map(workloads.map((workload) => [workload.name, workload]));
}

async function sendOnce(target: Target, number: number): Promise<void> {
  const connection = new Connection(target, number);
  try {
    await connection.opened;
    await connection.exchange();
  } finally {
    connection.close();
  }
}

async function measurePeer({ isolates, only }: DistanceOptions) {
  const { origin, workloads, stop } = await startPeer(1, { likeOurs: true, databaseMs: distances.d1 });
  const measured = new Map<string, Spread & { readonly queries: number }>();
  try {
    for (const { name, target } of wantedOf(workloads, only).filter(({ name }) => measuredNames.includes(name))) {
      let queries = 0;
      const onHead = (head: string) => {
        queries = readServerTiming(/server-timing: ([^\r]*)/.exec(head)?.[1])!.d1;
      };
      const latencies: number[] = [];
      for (let time = 0; time < 2 * isolates; time += 1) {
        const startedAt = performance.now();
        await sendOnce({ ...target(origin), onHead }, 0);
        latencies.push(performance.now() - startedAt);
      }
      measured.set(name, { ...spreadOf(latencies), queries });
    }
    return measured;
  } finally {
    await stop();
  }
}
