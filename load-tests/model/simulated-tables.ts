/** **The simulated tables**, request by request: a minute or two for all of them. */

import { count, milliseconds, percent, table } from "../lib/format.ts";
import { type ReferenceFigure, referenceFigures } from "../report/reference-figures.ts";
import { predict } from "./provider.ts";
import { type ModelledScenario, saturationRate, shardsOf, simulateReference } from "./reference-system.ts";

function isModelled(figure: ReferenceFigure): figure is ReferenceFigure & { scenario: ModelledScenario } {
  const modelled = figure.scenario === "exchange" || figure.scenario === "introspect" || figure.scenario === "refresh";
  // The cached variant responds from KV where our pattern calls an object.
  return modelled && !figure.variant.includes("cache");
}

export function reproduction(): string {
  const rows = referenceFigures.filter(isModelled).map((figure) => {
    const run = simulateReference(figure.scenario, shardsOf(figure), figure.rate);
    const pair = (published: number | undefined, simulated: number) =>
      `${milliseconds(published) || "–"} / ${milliseconds(simulated)}`;
    const counted = figure.scenario === "refresh" ? undefined : figure.requests;
    return [
      `${figure.scenario}, ${figure.variant}`,
      count(figure.rate),
      counted === undefined
        ? `– / ${count(run.served)}`
        : `${count(counted)} / ${count(run.served)} (${percent(run.served / counted - 1)})`,
      pair(figure.p50, run.p50),
      pair(figure.p95, run.p95),
      pair(figure.objectP99, run.objectP99),
      figure.scenario === "refresh" ? `${count(figure.objectErrors)} / ${count(run.failed)}` : "",
      run.saturated ? "saturated" : "holds",
    ];
  });
  return table(["run", "rate/s", "requests", "p50 ms", "p95 ms", "object p99 ms", "object errors", "model says"], rows);
}

export function saturation(): string {
  return table(
    ["system", "published", "model"],
    [
      ["exchange, 8 shards", "between 2,500 and 3,000", count(saturationRate("exchange", 8, 1500, 4000, 50))],
      ["exchange, 16 shards", "no better", count(saturationRate("exchange", 16, 1500, 4000, 50))],
      ["introspect, 16 shards", "between 300 and 750", count(saturationRate("introspect", 16, 200, 1000, 10))],
      ["introspect, 32 shards", "no better", count(saturationRate("introspect", 32, 200, 1000, 10))],
      ["refresh, 32 shards", "below 3,000", count(saturationRate("refresh", 32, 1500, 5000, 100))],
      ["refresh, 48 shards", "above 3,000", count(saturationRate("refresh", 48, 1500, 6000, 100))],
    ],
  );
}

const predictedRates = [3000, 10_000, 30_000, 100_000];

const predictionHeader = [
  "rate/s",
  "setting",
  "isolates",
  "object calls/request",
  "object calls/s",
  "busiest object",
  "p50 ms",
  "p99 ms",
  "holds",
];

function predictions(kind: Parameters<typeof predict>[0], shardCounts: readonly number[], setting: string): string {
  const rows = predictedRates.flatMap((rate) =>
    shardCounts.map((shards) => {
      const found = predict(kind, rate, shards);
      return [
        count(rate),
        `${setting}${shards} shards`,
        count(found.isolates),
        found.objectCallsPerRequest.toFixed(2),
        count(found.objectCallsPerSecond),
        `${Math.round(found.busiestObject * 100)} %`,
        milliseconds(found.p50),
        milliseconds(found.p99),
        found.holds ? "yes" : "no",
      ];
    }),
  );
  return table(predictionHeader, rows);
}

export const reads = () => predictions("introspect", [8, 32, 128], "direct, ");
export const refreshes = () => predictions("refresh", [16, 48, 128], "");
