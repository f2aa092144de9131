/**
 * **The process of one isolate**: the endpoint Workers in a workerd of their own, which uses the objects, database and cache of the provider that
 * forked it (`isolate-process.ts`). All traffic between the two passes through a proxy in this process, which can be cut. The process ends with its
 * parent.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isText, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from "miniflare";
import { CuttableProxy } from "./cuttable-proxy.ts";
import { endRuntimesWithThisProcess, type LogLine } from "./runtime-process.ts";

const storagePrefix = "__miniflare_storage_candidate__-";
const everyMs = 1000;

interface Entry {
  readonly debugPortAddress: string;
  readonly storageScope?: string;
}

const isEntry = objectOf<Entry>({ debugPortAddress: isText });

/**
 * **Copies the provider's entries of Miniflare's registry into an isolate's own**, with the address of the proxy in place of the provider's. It
 * repeats this each second, because entries expire without a heartbeat and a restarted provider has a new address. The entry of the storage's owner
 * keeps its name, so that it stays the oldest: an isolate must never become the owner.
 */
export function mirrorRegistry(from: string, to: string, proxy: CuttableProxy): void {
  const copyAll = () => {
    const names = existsSync(from) ? readdirSync(from) : [];
    for (const name of names) copyEntry(join(from, name), join(to, mirroredName(name)), proxy);
  };
  copyAll();
  setInterval(copyAll, everyMs).unref();
}

function mirroredName(name: string): string {
  return name.startsWith(storagePrefix) ? `${storagePrefix}provider` : name;
}

function copyEntry(from: string, to: string, proxy: CuttableProxy): void {
  const entry = readEntry(from);
  if (entry === undefined) return;
  const [host, port] = entry.debugPortAddress.split(":");
  proxy.target = { host: host!, port: Number(port) };
  writeFileSync(to, JSON.stringify({ ...entry, debugPortAddress: proxy.address }));
}

/** `undefined` while the provider writes it or after it was removed. */
function readEntry(path: string): Entry | undefined {
  try {
    return readStored(path, readFileSync(path, "utf8"), isEntry);
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export interface IsolateSettings {
  readonly workers: V4WorkerOptions[];
  /** Miniflare's registry of the provider, and the directory of the provider's state. */
  readonly registry: string;
  readonly resources: string;
  /** The isolate's own temporary directory. */
  readonly directory: string;
}

export type ToIsolate =
  | { readonly kind: "start"; readonly settings: IsolateSettings }
  | { readonly kind: "cut" | "join" };

export type FromIsolate =
  | { readonly kind: "ready"; readonly runtime: number }
  | { readonly kind: "done" }
  | { readonly kind: "log"; readonly line: LogLine };

const send = (message: FromIsolate) => process.send!(message);
let proxy: CuttableProxy | undefined;

async function start({ workers, registry, resources, directory }: IsolateSettings): Promise<void> {
  endRuntimesWithThisProcess();
  const processIdFile = join(directory, "workerd.pid");
  process.env.EDGE_OP_WORKERD_PID_FILE = processIdFile;
  proxy = await CuttableProxy.listen();
  const ownRegistry = join(directory, "registry");
  mkdirSync(ownRegistry);
  mirrorRegistry(registry, ownRegistry, proxy);
  const runtime = new Miniflare({
    ...convertV4MiniflareOptions({
      workers,
      resourcePersistencePath: resources,
      isolatedResourcePersistencePath: join(directory, "state"),
      unsafeDevRegistryPath: ownRegistry,
      cf: false,
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ level, message }) => {
        if (level === "error") console.error(message);
        send({ kind: "log", line: { level, message } });
      },
      telemetry: { enabled: false },
    }),
    unsafeEnableSharedStorage: true,
  });
  await runtime.ready;
  send({ kind: "ready", runtime: Number(readFileSync(processIdFile, "utf8")) });
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToIsolate) => {
  if (message.kind === "start") {
    void start(message.settings);
    return;
  }
  proxy!.setCut(message.kind === "cut");
  send({ kind: "done" });
});
