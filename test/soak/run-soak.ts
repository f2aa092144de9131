import { setTimeout as sleep } from "node:timers/promises";
import { farRegion } from "../../packages/edge-op/src/distant-stores.ts";
import { startLocalProvider } from "../../packages/edge-op/src/local-provider.ts";
import type { Shape, WorkerName } from "../../packages/edge-op/src/workers.ts";
import type { Tally } from "./guarantee.ts";
import { type Operations, operationsOn } from "./operations.ts";
import type { Operation, Phase } from "./phases.ts";
import { Stage } from "./stage.ts";

export interface SoakOptions {
  readonly seconds: number;
  readonly clients: number;
  readonly mode: string;
  readonly shape?: Shape;
  readonly phases: readonly Phase[];
  /** Isolates of each endpoint Worker in addition to the front door's own, on separate sockets; 2 by default. */
  readonly extraIsolates?: number;
  /** Relays between shards and isolates, and an isolate in a separate process that can stall; none by default. */
  readonly relays?: number;
  /** Milliseconds of a round trip to a second region, in which the additional isolates are; none by default. */
  readonly far?: number;
  /** A replacement entry point of a Worker, with which a test shows that a broken provider is detected. */
  readonly entryPoints?: Partial<Record<WorkerName, string>>;
  /** Runs before each phase, with the provider's origin. */
  readonly prepare?: (phase: Phase, origin: string) => Promise<void>;
  /** Ends a phase as soon as it has shown its purpose, and prolongs it until then, within the patience. */
  readonly isEnough?: (phase: Phase, tally: Tally) => boolean;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  readonly tally: Tally;
  /** How often each operation was done, by phase. */
  readonly done: Readonly<Record<string, Readonly<Partial<Record<Operation, number>>>>>;
}

/** How long an operation that has not succeeded yet is retried after its phase's time is up. */
const patienceMs = 20_000;
/** After the last phase, ended subjects are checked by isolates that have had time to forget. */
const watchMs = 3_000;
/** Round trips within the first region, when there is a second one. */
const nearMs = { object: 10, kv: 10, d1: 10 };
/** A revocation waits for leases, so several run at a time. */
const atOnce: Readonly<Partial<Record<Operation, number>>> = { revoke: 5 };

/** Starts a provider with additional isolates, runs the phases in order, and judges each response. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { extraIsolates = 2, shape = "separate", relays = 0 } = options;
  let stage: Stage | undefined;
  const provider = await startLocalProvider({
    onLog: (line) => stage?.noteLog(line),
    direct: extraIsolates > 0,
    extraIsolates,
    vars: { REVOCATION_MODE: options.mode },
    shape,
    relays,
    isolateProcesses: relays > 0,
    ...(options.far === undefined ? {} : { distances: { ...nearMs, far: options.far } }),
    entryPoints: {
      "op-state": "test/faults/faulty-objects.ts",
      "op-compact": "test/faults/faulty-compact.ts",
      ...options.entryPoints,
    },
  });
  try {
    const isolate = relays > 0 ? await provider.startIsolate() : undefined;
    stage = await Stage.prepare(provider, isolate, options.log);
    const operations = operationsOn(stage, options.far === undefined ? ["wnam"] : ["wnam", farRegion]);
    stage.startClients(options.clients);
    const shares = options.phases.reduce((sum, { share }) => sum + share, 0);
    const done: Record<string, Partial<Record<Operation, number>>> = {};
    for (const phase of options.phases) {
      await options.prepare?.(phase, provider.origin);
      const forMs = (options.seconds * 1000 * phase.share) / shares;
      done[phase.name] = await runPhase({ stage, operations, phase, forMs, isEnough: options.isEnough });
    }
    await sleep(watchMs);
    await stage.stopClients();
    return { tally: stage.guarantee.tally, done };
  } finally {
    await provider.stop();
  }
}

interface PhaseRun {
  readonly stage: Stage;
  readonly operations: Operations;
  readonly phase: Phase;
  readonly forMs: number;
  readonly isEnough: SoakOptions["isEnough"];
}

async function runPhase({ stage, operations, phase, forMs, isEnough }: PhaseRun) {
  const beganAtMs = Date.now();
  stage.log(`phase: ${phase.name}`);
  stage.guarantee.phaseBegins(phase.name, beganAtMs);
  stage.slowBodies(phase.slowBodies === true);
  const done: Partial<Record<Operation, number>> = {};
  const stopAtMs = beganAtMs + forMs;
  const repeat = async (operation: Operation, everyMs: number): Promise<void> => {
    const goesOn = (atMs: number) => {
      if (isEnough !== undefined) return !isEnough(phase, stage.guarantee.tally) && atMs < stopAtMs + patienceMs;
      // On a busy machine it takes a little longer, until each has happened at least once.
      return atMs < stopAtMs || (done[operation] === undefined && atMs < stopAtMs + patienceMs);
    };
    while (goesOn(Date.now() + everyMs)) {
      await sleep(everyMs);
      if (await operations[operation]()) done[operation] = (done[operation] ?? 0) + 1;
    }
  };
  const scheduled = Object.entries(phase.everyMs) as [Operation, number][];
  const loops = scheduled.flatMap(([operation, everyMs]) =>
    Array.from({ length: atOnce[operation] ?? 1 }, () => repeat(operation, everyMs)),
  );
  await Promise.all(loops);
  return done;
}
