import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from "miniflare";
import { type BuiltWorker, esModules } from "../../src/builds.ts";
import { findFreePort } from "../../src/free-port.ts";
import { withRateLimiter } from "../../src/rate-limiter.ts";
import { callHelper, endRuntimesWithThisProcess, type LogLine } from "../../src/runtime-process.ts";
import type { Order } from "../instances/instances-worker.ts";

export const slotCount = 128;
const workerName = "instances";
const controlName = "control";
const host = "127.0.0.1";

const controlSource = "export default { fetch: (request, env) => env.INSTANCES.fetch(request) };";

function bySlot<Value>(entriesOf: (slot: number) => readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries(Array.from({ length: slotCount }, (_, slot) => entriesOf(slot)).flat());
}

function describe({ modules, options }: BuiltWorker, port: number): V4WorkerOptions[] {
  const { compatibilityDate, compatibilityFlags = [], durableObjects, ratelimits } = options;
  if (compatibilityDate === undefined || durableObjects === undefined || ratelimits === undefined) {
    throw new Error("the compact Worker has no date, objects or limits");
  }
  const instances: V4WorkerOptions = {
    name: workerName,
    modules: esModules(modules),
    compatibilityDate,
    // Required for the instance whose code is running.
    compatibilityFlags: [...compatibilityFlags, "nodejs_als"],
    durableObjects,
    ratelimits,
    d1Databases: bySlot((slot) => ["DB", "AUDIT_DB"].map((name) => [`${name}_${slot}`, `${name}-${slot}`])),
    kvNamespaces: bySlot((slot) => [[`CACHE_${slot}`, `cache-${slot}`]]),
    queueProducers: bySlot((slot) => [[`AUDIT_QUEUE_${slot}`, { queueName: `audit-${slot}` }]]),
    queueConsumers: bySlot((slot) => [[`audit-${slot}`, { maxBatchSize: 100, maxBatchTimeout: 1 }]]),
    unsafeDirectSockets: [{ host, port }],
  };
  const control: V4WorkerOptions = {
    name: controlName,
    modules: [{ type: "ESModule", path: "index.js", contents: controlSource }],
    compatibilityDate,
    serviceBindings: { INSTANCES: { name: workerName, entrypoint: "Control" } },
  };
  return withRateLimiter([instances, control]);
}

/**
 * **The one workerd of all instances**: the Worker of `instances/`, with databases, a cache and a queue for each slot. Unused slots cost nothing:
 * Miniflare creates them when they are first called.
 */
export class InstanceRuntime {
  /** The port at which every instance is served: the port of the request's URL selects one. */
  readonly port: number;
  readonly #runtime: Miniflare;
  readonly #directory: string;

  private constructor(runtime: Miniflare, port: number, directory: string) {
    this.#runtime = runtime;
    this.port = port;
    this.#directory = directory;
  }

  static async start(built: BuiltWorker, onLog: (line: LogLine) => void): Promise<InstanceRuntime> {
    const port = await findFreePort(host);
    const directory = mkdtempSync(join(tmpdir(), "edge-op-instances-"));
    endRuntimesWithThisProcess();
    const runtime = new Miniflare(
      convertV4MiniflareOptions({
        workers: describe(built, port),
        resourcePersistencePath: directory,
        isolatedResourcePersistencePath: directory,
        cf: false,
        log: new Log(LogLevel.ERROR),
        handleStructuredLogs: ({ level, message }) => onLog({ level, message }),
        telemetry: { enabled: false },
      }),
    );
    await runtime.ready;
    return new InstanceRuntime(runtime, port, directory);
  }

  order(order: Order): Promise<unknown> {
    return callHelper(this.#runtime, controlName, "/", order);
  }

  async stop(): Promise<void> {
    await this.#runtime.dispose();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
