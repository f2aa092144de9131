import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readServerTiming } from "../lib/server-timing.ts";
import { startProvider } from "../lib/start-provider.ts";
import { runLoop } from "./closed-loop.ts";
import { prepareWorkloads } from "./workloads.ts";

/**
 * **`node load-tests/bench/calls-by-rate.ts`**: object calls of introspection at several rates, `direct` beside `strict`, in one
 * run. In `direct` they grow with the rate until calls are shared; in `strict` they are bounded by isolates × shards / L,
 * renewals at half of L, whatever the rate. Rates are what so many connections make, one after the other.
 */
const connectionCounts = [1, 4, 16, 64];
const seconds = 4;

interface Row {
  readonly connections: number;
  readonly perSecond: number;
  readonly objectPerRequest: number;
}

async function measureMode(mode: "direct" | "strict", directory: string): Promise<Row[]> {
  const provider = await startProvider({ vars: { REVOCATION_MODE: mode, SERVER_TIMING: "true" } });
  try {
    const workloads = await prepareWorkloads(provider, join(directory, `${mode}.json`), 1);
    const target = workloads.find(({ name }) => name === "introspect")!.target(provider.origin);
    const rows: Row[] = [];
    for (const connections of connectionCounts) {
      await runLoop(target, connections, 1);
      let calls = 0;
      const onHead = (head: string) => {
        calls += readServerTiming(/server-timing: ([^\r]*)/.exec(head)?.[1])?.object ?? Number.NaN;
      };
      const { requests, perSecond } = await runLoop({ ...target, onHead }, connections, seconds);
      rows.push({ connections, perSecond, objectPerRequest: calls / requests });
    }
    return rows;
  } finally {
    await provider.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), "edge-op-calls-"));
try {
  const direct = await measureMode("direct", directory);
  const strict = await measureMode("strict", directory);
  const shown = ({ perSecond, objectPerRequest }: Row) =>
    `${Math.round(perSecond)} | ${objectPerRequest.toFixed(4)} | ${Math.round(perSecond * objectPerRequest)}`;
  console.log(
    "| connections | direct: requests/s | object calls a request | a second | strict: requests/s | object calls a request | a second | strict / direct |",
  );
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
  for (const [index, row] of strict.entries()) {
    const other = direct[index]!;
    const ratio = (row.perSecond / other.perSecond).toFixed(2);
    console.log(`| ${row.connections} | ${shown(other)} | ${shown(row)} | ${ratio} |`);
  }
} finally {
  rmSync(directory, { recursive: true });
}
