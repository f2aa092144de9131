/**
 * **`node load-tests/bench/calls-by-rate.ts`**: object calls of introspection at several rates, `direct` beside `strict`, in one run. In `direct`
 * they grow with the rate until calls are shared; in `strict` they are bounded by isolates × shards / L, renewals at half of L, whatever the rate.
 * The rates are those of different numbers of connections, measured one after the other.
 */

import { table } from "../lib/format.ts";
import { readServerTiming } from "../lib/server-timing.ts";
import { startProvider } from "../lib/start-provider.ts";
import { runLoop } from "./loops.ts";
import { prepareSeeds, workloadsOf } from "./workloads.ts";

const connectionCounts = [1, 4, 16, 64];
const seconds = 4;

interface Row {
  readonly connections: number;
  readonly perSecond: number;
  readonly objectPerRequest: number;
}

async function measureMode(mode: "direct" | "strict"): Promise<Row[]> {
  const provider = await startProvider({ vars: { REVOCATION_MODE: mode, SERVER_TIMING: "true" } });
  try {
    const workloads = workloadsOf(await prepareSeeds(provider, 1));
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

const direct = await measureMode("direct");
const strict = await measureMode("strict");
const shown = ({ perSecond, objectPerRequest }: Row) => [
  Math.round(perSecond),
  objectPerRequest.toFixed(4),
  Math.round(perSecond * objectPerRequest),
];
const figures = ["requests/s", "object calls a request", "a second"];
const header = [
  "connections",
  ...figures.map((name) => `direct: ${name}`),
  ...figures.map((name) => `strict: ${name}`),
];
const rows = strict.map((row, index) => {
  const other = direct[index]!;
  return [row.connections, ...shown(other), ...shown(row), (row.perSecond / other.perSecond).toFixed(2)];
});
console.log(table([...header, "requests/s: strict / direct"], rows));
