/**
 * **`node load-tests/measure/measure-starts.ts`**: what starting an isolate of each Worker costs: the bytes of the modules that a start evaluates and
 * of all modules, and the CPU that the runtime uses until the first are evaluated and have refused a request, less that of a Worker of one line. It
 * measures what `npm run build` has left in `dist/`.
 */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { esModules, mainModule, readModules, type WorkerModule } from "../../packages/edge-op/src/builds.ts";
import { modulesAtStart } from "../../packages/edge-op/src/bundle-worker.ts";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";

const copies = 20;
const emptyWorker = [{ path: mainModule, contents: "export default { fetch: () => new Response() };" }];

const built = join(import.meta.dirname, "../../dist");

function kibibytes(modules: readonly WorkerModule[]): string {
  return (modules.reduce((sum, { contents }) => sum + contents.length, 0) / 1024).toFixed(0);
}

/** Starts a runtime with many isolates of a Worker. Returns its CPU for each, in milliseconds. */
async function startMs(modules: readonly WorkerModule[]): Promise<number> {
  const names = Array.from({ length: copies }, (_, index) => `copy-${index}`);
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      workers: names.map((name) => ({
        name,
        modules: esModules(modules),
        compatibilityDate: "2026-10-20",
        compatibilityFlags: ["global_fetch_strictly_public", "new_module_registry"],
      })),
      // A Worker without its bindings refuses the request, which is logged.
      log: new Log(LogLevel.NONE),
      handleStructuredLogs: () => {},
      telemetry: { enabled: false },
      cf: false,
    }),
  );
  try {
    await runtime.ready;
    for (const name of names) {
      const { fetch } = await runtime.getWorker(name);
      await fetch("http://localhost/").then(
        (response) => response.arrayBuffer(),
        () => undefined,
      );
    }
    const processId = findRuntime(process.pid);
    if (processId === undefined) throw new Error("CPU time is read from /proc: run this on Linux");
    return cpuMicroseconds(processId) / copies / 1000;
  } finally {
    await runtime.dispose();
  }
}

console.log(
  "| Worker | evaluated at the start, KiB | all modules, KiB | CPU of a start, ms |\n| --- | --- | --- | --- |",
);
const emptyMs = await startMs(emptyWorker);
for (const name of readdirSync(built).filter((each) => existsSync(join(built, each, mainModule)))) {
  const modules = readModules(join(built, name));
  const ms = (await startMs(modules)) - emptyMs;
  console.log(`| ${name} | ${kibibytes(modulesAtStart(modules))} | ${kibibytes(modules)} | ${ms.toFixed(1)} |`);
}
