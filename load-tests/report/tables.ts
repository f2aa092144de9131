/** **The tables of a report**, as rows of text, which Markdown and HTML share. */

import { shapes } from "../lib/presets.ts";
import { referenceCosts, referenceFigures } from "./reference-figures.ts";
import { achievedRate, describeMachineLoad, limitOf, type RunRecord, verdictOf, wrongAnswers } from "./run-record.ts";

export interface Table {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export const count = (value: number) => Math.round(value).toLocaleString("en-US");
const milliseconds = (value: number | undefined) => {
  if (value === undefined) return "–";
  return value < 10 ? value.toFixed(2) : count(value);
};
const calls = (value: number) => value.toFixed(2);

export function nameOf(record: RunRecord): string {
  const variant = record.variant === "" ? "" : ` (${record.variant})`;
  return `${record.scenario} ${record.load.preset} ${record.load.shape}${variant}`;
}

/** Sorted by scenario, then shape, then rate. */
export function sortRuns(records: readonly RunRecord[]): RunRecord[] {
  return [...records].sort(
    (a, b) =>
      a.scenario.localeCompare(b.scenario) ||
      shapes.indexOf(a.load.shape) - shapes.indexOf(b.load.shape) ||
      a.variant.localeCompare(b.variant) ||
      a.load.rate - b.load.rate,
  );
}

export function resultsTable(records: readonly RunRecord[]): Table {
  const rows = records.map((record) => {
    const { outcome } = record;
    const achieved = achievedRate(outcome);
    return [
      nameOf(record),
      count(outcome.finished),
      `${count(achieved)} of ${count(outcome.asked / Math.max(1, outcome.seconds))}`,
      milliseconds(outcome.latency?.p50),
      milliseconds(outcome.latency?.p95),
      milliseconds(outcome.latency?.p99),
      count(outcome.dropped),
      count(wrongAnswers(outcome)),
      verdictOf(outcome),
    ];
  });
  return {
    title: "Results",
    header: ["run", "requests", "achieved/s of asked", "p50 ms", "p95 ms", "p99 ms", "dropped", "wrong", "verdict"],
    rows,
  };
}

/** The reference's figures at the scenarios and rates of these runs, in separate tables because they measure something else. */
export function referenceTable(records: readonly RunRecord[]): Table[] {
  const published = referenceFigures.filter((figure) =>
    records.some(({ scenario, load }) => scenario === figure.scenario && load.rate === figure.rate),
  );
  if (published.length === 0) return [];
  const rows = published.map((figure) => [
    `${figure.scenario} rps${figure.rate}${figure.variant === "" ? "" : ` (${figure.variant})`}`,
    figure.requests === undefined ? "–" : count(figure.requests),
    milliseconds(figure.p50),
    milliseconds(figure.p95),
    milliseconds(figure.p99),
    milliseconds(figure.objectP99),
    count(figure.objectErrors),
  ]);
  const title = "The reference at these rates: Worker duration, measured inside its Worker, not by its clients";
  const header = [
    "run",
    "requests",
    "Worker p50 ms",
    "Worker p95 ms",
    "Worker p99 ms",
    "object p99 ms",
    "object errors",
  ];
  return [{ title, header, rows }];
}

export function limitsTable(records: readonly RunRecord[]): Table {
  const rows = records.map((record) => {
    const missed = record.outcome.thresholds
      .filter(({ met }) => !met)
      .map(({ metric, condition }) => `${metric} ${condition}`);
    return [nameOf(record), limitOf(record), missed.length === 0 ? "all met" : missed.join(", ")];
  });
  return { title: "What limited each run", header: ["run", "limited by", "thresholds"], rows };
}

export function classesTable(records: readonly RunRecord[]): Table {
  const rows = records.flatMap((record) =>
    Object.entries(record.outcome.classes).map(([name, each]) => [
      nameOf(record),
      name,
      count(each.requests),
      count(each.requests - each.wrong),
      count(each.wrong),
      milliseconds(each.latency?.p50),
      milliseconds(each.latency?.p99),
    ]),
  );
  return {
    title: "Correctness by class",
    header: ["run", "class", "sent", "correct", "wrong", "p50 ms", "p99 ms"],
    rows,
  };
}

export function storageTable(records: readonly RunRecord[]): Table {
  const rows = records.map((record) => {
    const { storage } = record.outcome;
    const theirs = referenceCosts[record.scenario];
    const reference =
      theirs === undefined ? "–" : `${theirs.object} object${theirs.d1 === undefined ? "" : `, ${theirs.d1} D1`}`;
    if (storage === undefined) return [nameOf(record), "not shown (SERVER_TIMING is off)", "–", "–", reference];
    return [nameOf(record), calls(storage.object.mean), calls(storage.kv.mean), calls(storage.d1.mean), reference];
  });
  return { title: "Storage calls per request", header: ["run", "object", "KV", "D1", "reference"], rows };
}

export function circumstancesTable(records: readonly RunRecord[]): Table {
  const rows = records.map((record) => [
    nameOf(record),
    record.startedAt,
    record.commit,
    `${record.target.topology}, ${record.target.mode}, ${record.target.shardMap}`,
    `${record.machine.cpu}, ${record.machine.cores} cores, ${record.machine.memoryGb} GB, ${record.machine.system}, ${record.machine.k6}${record.machine.sharedWithProvider ? ", shared with the provider" : ""}`,
    record.machineLoad === undefined ? "not recorded" : describeMachineLoad(record.machineLoad),
    `\`${record.command}\``,
  ]);
  return {
    title: "Circumstances",
    header: ["run", "started", "commit", "topology, mode, shards", "generator", "load", "command"],
    rows,
  };
}

/** One table per run that has platform figures. */
export function platformTables(records: readonly RunRecord[]): Table[] {
  return records.flatMap((record) => {
    const { platform } = record;
    if (platform === undefined) return [];
    const objects = platform.objects.map((each) => [
      `${each.script} ${each.name}`,
      count(each.requests),
      count(each.errors),
      milliseconds(each.wallP50Ms),
      milliseconds(each.wallP99Ms),
      "–",
    ]);
    const workers = platform.workers.map((each) => [
      each.script,
      count(each.requests),
      count(each.errors),
      milliseconds(each.wallP50Ms),
      milliseconds(each.wallP99Ms),
      `${milliseconds(each.cpuP50Ms)} / ${milliseconds(each.cpuP99Ms)}`,
    ]);
    const kv = platform.kv.map((each) => [
      `KV ${each.action}`,
      count(each.requests),
      "–",
      "–",
      milliseconds(each.p99Ms),
      "–",
    ]);
    const d1 =
      platform.d1 === undefined
        ? []
        : [
            [
              "D1 queries",
              count(platform.d1.readQueries + platform.d1.writeQueries),
              "–",
              "–",
              `p90 ${milliseconds(platform.d1.queryP90Ms)}`,
              "–",
            ],
          ];
    return [
      {
        title: `Cloudflare's figures: ${nameOf(record)}`,
        header: ["script or object", "requests", "errors", "wall p50 ms", "wall p99 ms", "CPU p50 / p99 ms"],
        rows: [...workers, ...objects, ...d1, ...kv],
      },
    ];
  });
}

export function allTables(records: readonly RunRecord[]): Table[] {
  return [
    resultsTable(records),
    ...referenceTable(records),
    limitsTable(records),
    classesTable(records),
    storageTable(records),
    ...platformTables(records),
    circumstancesTable(records),
  ];
}
