import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ReferenceFigure, referenceFigures } from "../report/reference-figures.ts";
import { type Deployment, defaultDeployment, type Kind, predict } from "./provider.ts";
import { type ModelledScenario, saturationRate, shardsOf, simulateReference } from "./reference-system.ts";
import { sizeFor } from "./sizing.ts";

/**
 * **Prints the model's tables**, or with `--write` puts them into the two pages of docs/operating/ that show them, between
 * `<!-- model -->` marks: a page never holds a figure that the model does not give.
 */
const milliseconds = (value: number | undefined) =>
  value === undefined ? "" : value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
const percent = (value: number) => `${value > 0 ? "+" : ""}${Math.round(value * 100)} %`;
const count = (value: number) => Math.round(value).toLocaleString("en-US");

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function isModelled(figure: ReferenceFigure): figure is ReferenceFigure & { scenario: ModelledScenario } {
  const modelled = figure.scenario === "exchange" || figure.scenario === "introspect" || figure.scenario === "refresh";
  // The cached variant answers from KV what our pattern asks an object for.
  return modelled && !figure.variant.includes("cache");
}

function reproduction(): string {
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

function saturation(): string {
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

function predictionRow(kind: Kind, rate: number, name: string, deployment: Deployment): string[] {
  const found = predict(kind, rate, deployment);
  const busiest = `${Math.round(found.busiestObject * 100)} %`;
  return [
    count(rate),
    name,
    count(found.isolates),
    found.objectCallsPerRequest.toFixed(2),
    count(found.objectCallsPerSecond),
    busiest,
    milliseconds(found.p50),
    milliseconds(found.p99),
    found.holds ? "yes" : "no",
  ];
}

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

function reads(): string {
  const rows = predictedRates.flatMap((rate) =>
    [8, 32, 128].flatMap((revocationShards) => [
      predictionRow("introspect", rate, `direct, ${revocationShards} shards`, {
        ...defaultDeployment,
        mode: "direct",
        revocationShards,
      }),
      predictionRow("introspect", rate, `strict, ${revocationShards} shards`, {
        ...defaultDeployment,
        revocationShards,
      }),
    ]),
  );
  const longer = predictionRow("introspect", 100_000, "strict, 8 shards, lease 2 s", {
    ...defaultDeployment,
    leaseMs: 2000,
  });
  return table(predictionHeader, [...rows, longer]);
}

function refreshes(): string {
  const rows = predictedRates.flatMap((rate) =>
    [16, 48, 128].map((refreshShards) =>
      predictionRow("refresh", rate, `${refreshShards} shards`, { ...defaultDeployment, refreshShards }),
    ),
  );
  return table(predictionHeader, rows);
}

function isolateSensitivity(): string {
  const rows = [100, 300, 1000].map((requestsPerIsolate) =>
    predictionRow("introspect", 30_000, `strict, 8 shards, ${requestsPerIsolate}/s an isolate`, {
      ...defaultDeployment,
      requestsPerIsolate,
    }),
  );
  return table(predictionHeader, rows);
}

function sizing(): string {
  const rows = [10_000, 100_000, 1_000_000, 10_000_000, 50_000_000].map((users) => {
    const { peak, settings, costPerMonth } = sizeFor(users);
    return [
      count(users),
      count(peak.total),
      count(peak.reads),
      count(peak.refreshes),
      peak.signIns.toFixed(1),
      `${settings.mode}, LEASE_MS ${settings.leaseMs}`,
      `${settings.revocationShards} / ${settings.refreshShards} / ${settings.sessionShards}`,
      `$${count(costPerMonth)}`,
    ];
  });
  return table(
    [
      "users a month",
      "peak requests/s",
      "of them reads",
      "refreshes",
      "sign-ins",
      "mode",
      "shards: revocation / refresh / session, code, challenge",
      "cost a month",
    ],
    rows,
  );
}

const pages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "capacity-model.md": { saturation, reproduction, reads, refreshes, isolates: isolateSensitivity },
  "sizing.md": { sizing },
};

for (const [page, tables] of Object.entries(pages)) {
  const path = fileURLToPath(new URL(`../../docs/operating/${page}`, import.meta.url));
  let text = process.argv.includes("--write") ? readFileSync(path, "utf8") : "";
  for (const [name, make] of Object.entries(tables)) {
    const made = make();
    console.log(`\n## ${name}\n\n${made}`);
    text = text.replace(
      new RegExp(`(<!-- model: ${name} -->\n)[\\s\\S]*?(\n<!-- end -->)`),
      (_, open: string, close: string) => `${open}${made}${close}`,
    );
  }
  if (process.argv.includes("--write")) writeFileSync(path, text);
}
