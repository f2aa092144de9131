import { escapeHtml, lineChart, type Series } from "./chart.ts";
import { requireNoContradiction } from "./contradictions.ts";
import { achievedRate, type RunRecord } from "./run-record.ts";
import { allTables, nameOf, sortRuns, type Table } from "./tables.ts";

export interface Report {
  readonly markdown: string;
  readonly html: string;
}

const note =
  "Figures from a shared machine compare only within one run. `reference` ramps from half the rate to all of it, so it averages about " +
  "70 % of its name; `hold` keeps the full rate. The reference's figures are of December 2025, one region, against production.";

/** **A report of one run or many**, as Markdown and as one self-contained HTML page. Throws if the figures of a record contradict each other. */
export function renderReport(title: string, runs: readonly RunRecord[]): Report {
  const records = sortRuns(runs);
  for (const record of records) requireNoContradiction(record, nameOf(record));
  const tables = allTables(records);
  const charts = chartsOf(records);
  return {
    markdown: [`# ${title}`, note, ...tables.map(markdownTable)].join("\n\n").concat("\n"),
    html: page(title, [`<p>${escapeHtml(note)}</p>`, ...tables.map(htmlTable), ...charts].join("\n")),
  };
}

function markdownTable({ title, header, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [`## ${title}`, "", line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

function htmlTable({ title, header, rows }: Table): string {
  const cells = (tag: string, values: readonly string[]) =>
    `<tr>${values.map((value) => `<${tag}>${escapeHtml(value)}</${tag}>`).join("")}</tr>`;
  return `<h2>${escapeHtml(title)}</h2><div class="wide"><table>${cells("th", header)}${rows.map((row) => cells("td", row)).join("")}</table></div>`;
}

/** Groups runs that differ only in their rate; only these are joined by a line. */
function likeRuns(records: readonly RunRecord[]): RunRecord[][] {
  const groups = new Map<string, RunRecord[]>();
  for (const record of records) {
    if (record.outcome.latency === undefined) continue;
    const { scenario, variant, load, target, machine, commit } = record;
    const { mode, topology, shardMap } = target;
    const key = JSON.stringify([scenario, load.shape, variant, mode, topology, shardMap, machine.cpu, commit]);
    groups.set(key, [...(groups.get(key) ?? []), record]);
  }
  // A single rate is not a line; the tables contain it.
  return [...groups.values()].filter((runs) => new Set(runs.map(({ load }) => load.rate)).size > 1);
}

function chartsOf(records: readonly RunRecord[]): string[] {
  return likeRuns(records).flatMap((runs) => {
    const [{ scenario, variant, load }] = runs as [RunRecord];
    const name = `${scenario}, ${load.shape}${variant === "" ? "" : `, ${variant}`}`;
    const against = (value: (run: RunRecord) => number | undefined) =>
      runs.flatMap((run): [number, number][] => {
        const y = value(run);
        return y === undefined ? [] : [[run.load.rate, y]];
      });
    const askedMean = ({ outcome }: RunRecord) => outcome.asked / outcome.seconds;
    return [
      lineChart(`${name}: latency against rate`, "requests/s asked", "ms", [
        { name: "p50", points: against((run) => run.outcome.latency?.p50) },
        { name: "p95", points: against((run) => run.outcome.latency?.p95) },
        { name: "p99", points: against((run) => run.outcome.latency?.p99) },
      ]),
      lineChart(`${name}: achieved against asked`, "requests/s asked (mean)", "requests/s achieved", [
        { name: "achieved", points: runs.map((run) => [askedMean(run), achievedRate(run.outcome)]) },
        { name: "asked", dashed: true, points: runs.map((run) => [askedMean(run), askedMean(run)]) },
      ]),
      lineChart(`${name}: correct answers by class`, "requests/s asked", "%", classSeries(runs)),
      lineChart(`${name}: storage calls per request`, "requests/s asked", "calls", [
        { name: "object", points: against((run) => run.outcome.storage?.object.mean) },
        { name: "KV", points: against((run) => run.outcome.storage?.kv.mean) },
        { name: "D1", points: against((run) => run.outcome.storage?.d1.mean) },
      ]),
    ];
  });
}

function classSeries(runs: readonly RunRecord[]): Series[] {
  const names = new Set(runs.flatMap((run) => Object.keys(run.outcome.classes)));
  return [...names].map((name) => ({
    name,
    points: runs.flatMap((run): [number, number][] => {
      const each = run.outcome.classes[name];
      if (each === undefined || each.requests === 0) return [];
      return [[run.load.rate, (100 * (each.requests - each.wrong)) / each.requests]];
    }),
  }));
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title>
<style>
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.25rem .6rem;border-bottom:1px solid #8884;text-align:left;vertical-align:top}
.wide{overflow-x:auto}figure{display:inline-block;width:min(520px,100%);margin:0 1rem 1rem 0;vertical-align:top}figcaption{font-weight:600}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:currentColor}.grid{stroke:#8884}
.legend span{margin-right:1rem;white-space:nowrap}.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.35em;border-radius:2px}
</style></head><body><h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`;
}
