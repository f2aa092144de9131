/**
 * **The process of one isolate**: the endpoint Workers in a workerd of their own, which uses the objects, database and cache of the provider that
 * forked it (`isolate-process.ts`). All traffic between the two passes through a proxy in this process, which can be cut. The process ends with its
 * parent.
 */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptions } from "miniflare";
import { CuttableProxy } from "./cuttable-proxy.ts";
import { endRuntimesWithThisProcess } from "./end-with-parent.ts";
import type { LogLine } from "./log-line.ts";
import { mirrorRegistry } from "./mirror-registry.ts";

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
