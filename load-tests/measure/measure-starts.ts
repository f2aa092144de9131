/**
 * **`node load-tests/measure/measure-starts.ts`**: what starting an isolate of each Worker costs: the compressed size of its script, and the CPU that
 * the runtime uses until the script is evaluated and has refused a first request, less that of a Worker of one line. It measures what `npm run build`
 * has left in `dist/`.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { cpuMicroseconds, findRuntime } from "../lib/process-time.ts";

const copies = 20;
const emptyScript = "export default { fetch: () => new Response() };";

const built = join(import.meta.dirname, "../../dist");

function scriptPath(name: string): string {
  return join(built, name, "index.js");
}

/** Starts a runtime with many isolates of a script. Returns its CPU for each, in milliseconds. */
async function startMs(script: string): Promise<number> {
  const names = Array.from({ length: copies }, (_, index) => `copy-${index}`);
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      workers: names.map((name) => ({
        name,
        modules: [{ type: "ESModule" as const, path: "index.js", contents: script }],
        compatibilityDate: "2026-10-20",
        compatibilityFlags: ["global_fetch_strictly_public"],
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

console.log("| Worker | script, KiB gzipped | CPU of a start, ms |\n| --- | --- | --- |");
const emptyMs = await startMs(emptyScript);
for (const name of readdirSync(built).filter((each) => existsSync(scriptPath(each)))) {
  const script = readFileSync(scriptPath(name), "utf8");
  const kib = gzipSync(script).length / 1024;
  console.log(`| ${name} | ${kib.toFixed(0)} | ${((await startMs(script)) - emptyMs).toFixed(1)} |`);
}
