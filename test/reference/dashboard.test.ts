import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryRoot, workers } from "../../packages/edge-op/src/workers.ts";
import { checkEnvironment } from "../../scripts/deploy/environment.ts";
import { workerConfiguration } from "../../scripts/deploy/worker-configuration.ts";

/** The Grafana dashboard names only columns that a data point has (`observeRequest`). */
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly rawSql: string }[] }[];
}

const dashboard = JSON.parse(readFileSync(join(repositoryRoot, "docs/operating/dashboard.json"), "utf8")) as Dashboard;
const monitor = readFileSync(join(repositoryRoot, "docs/operating/monitor.md"), "utf8");
const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ rawSql }) => ({ title, rawSql })));

const issuer = "https://op.example.com";
const checked = checkEnvironment("production", { issuer });
if ("errors" in checked) throw new Error(checked.errors.join());
const values = { account: "", issuer, zone: "", ids: { databases: {}, namespaces: {} }, factsTokenHash: "" };

/** The datasets of every Worker that writes data points, as configured by `npm run deploy`. */
const datasets = workers.flatMap(({ name }) => {
  const { analytics_engine_datasets: bound } = workerConfiguration(name, checked.environment, values, repositoryRoot);
  return (bound as { dataset: string }[]).map((each) => each.dataset);
});
const dataset = datasets[0]!;

describe("the dashboard", () => {
  test.each(queries)("$title: reads the dataset's columns, and weighs each row by its sampling", ({ rawSql }) => {
    const columns = new Set(rawSql.match(/\b(?:index|blob|double)\d+\b/g));
    const known = ["index1", ...[1, 2, 3, 4, 5].flatMap((number) => [`blob${number}`, `double${number}`])];
    expect([...columns].filter((column) => !known.includes(column))).toEqual([]);
    expect(rawSql).toContain(`FROM ${dataset} WHERE $__timeFilter(timestamp)`);
    expect(rawSql).toContain("_sample_interval");
  });

  test("the dashboard and the page read the dataset that a deployment writes", () => {
    expect(new Set(datasets)).toEqual(new Set(["op_requests"]));
    expect([...new Set(monitor.match(/\bFROM \w+/g))]).toEqual([`FROM ${dataset}`]);
  });

  test("has the outcomes that a data point can have", () => {
    const named = queries.flatMap(({ rawSql }) => rawSql.match(/'(?:refused|unavailable|failed|ok)'/g) ?? []);
    const compared = queries.flatMap(({ rawSql }) => rawSql.match(/blob3 (?:=|IN) [^)]*'\)?/g) ?? []);
    expect(compared.length).toBeGreaterThan(2);
    expect(new Set(named)).toEqual(new Set(["'refused'", "'unavailable'", "'failed'"]));
    expect(monitor).toContain("(dashboard.json)");
  });
});
