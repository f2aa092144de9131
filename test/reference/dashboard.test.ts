import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryRoot, workers } from "../../packages/edge-op/src/workers.ts";
import { durationBoundsMs } from "../../packages/shared/src/http/request-metrics.ts";
import { checkEnvironment } from "../../scripts/deploy/environment.ts";
import { workerConfiguration } from "../../scripts/deploy/worker-configuration.ts";

/** The Grafana dashboard and the alert rules name only columns that a data point has (`observeRequest`), and events that a line can have. */
interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly gridPos: object;
    readonly title: string;
    readonly targets: readonly { readonly rawSql: string }[];
  }[];
}

const dashboard = JSON.parse(readFileSync(join(repositoryRoot, "docs/operating/dashboard.json"), "utf8")) as Dashboard;
const monitor = readFileSync(join(repositoryRoot, "docs/operating/monitor.md"), "utf8");

interface Rule {
  readonly uid: string;
  readonly title: string;
  readonly condition: string;
  readonly for: string;
  readonly noDataState: string;
  readonly annotations: { readonly page: string };
  readonly data: readonly {
    readonly refId: string;
    readonly datasourceUid: string;
    readonly relativeTimeRange?: { readonly from: number; readonly to: number };
    readonly model: { refId?: string; rawSql?: string; expr?: string };
  }[];
}

const read = (name: string) => readFileSync(join(repositoryRoot, "docs/operating", name), "utf8");
const { groups } = JSON.parse(read("alerts.json")) as {
  readonly groups: readonly [{ readonly rules: readonly Rule[] }];
};
const { rules } = groups[0];
const ruleQueries = rules.flatMap(({ title, data }) =>
  data.flatMap(({ model: { rawSql } }) => (rawSql === undefined ? [] : [{ title, rawSql }])),
);
const panelQueries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ rawSql }) => ({ title, rawSql })));
const queries = [...panelQueries, ...ruleQueries];

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
  test.each(queries)(
    "$title: reads the dataset's columns, and weighs each row by its requests and its sampling",
    ({ rawSql }) => {
      const columns = new Set(rawSql.match(/\b(?:index|blob|double)\d+\b/g));
      const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
      const doubles = numbers(7 + durationBoundsMs.length).map((number) => `double${number}`);
      const known = ["index1", ...numbers(6).map((number) => `blob${number}`), ...doubles];
      expect([...columns].filter((column) => !known.includes(column))).toEqual([]);
      expect(rawSql).toContain(`FROM ${dataset} WHERE $__timeFilter(timestamp)`);
      // A row stands for as many requests; sums of calls are of the sampled ones.
      expect(rawSql).toMatch(/\(double[67] \+ 1\) \* _sample_interval/);
      expect(rawSql.match(/(?<!(?:\bdouble\d+|\)) \* )_sample_interval/g)).toBeNull();
    },
  );

  test("the dashboard and the page read the dataset that a deployment writes", () => {
    expect(new Set(datasets)).toEqual(new Set(["op_requests"]));
    expect([...new Set(monitor.match(/\bFROM \w+/g))]).toEqual([`FROM ${dataset}`]);
    const bounds = durationBoundsMs.map((bound) => bound.toLocaleString("en")).join(", ");
    expect(monitor).toContain(`| \`double8\` … \`double19\` | its requests that took longer than ${bounds} ms;`);
  });

  test("has the outcomes that a data point can have", () => {
    const named = queries.flatMap(({ rawSql }) => rawSql.match(/'(?:refused|unavailable|failed|ok)'/g) ?? []);
    const compared = queries.flatMap(({ rawSql }) => rawSql.match(/blob3 (?:=|IN) [^)]*'\)?/g) ?? []);
    expect(compared.length).toBeGreaterThan(2);
    expect(new Set(named)).toEqual(new Set(["'refused'", "'unavailable'", "'failed'"]));
    expect(monitor).toContain("(dashboard.json)");
  });
});

describe("the alert rules", () => {
  const respond = read("respond.md");
  const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(" ", "-");
  const sections = [...respond.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
  /** People report these. */
  const reported = [
    "a-token-secret-or-key-leaked",
    "a-host-publishes-metadata-documents-of-hostile-clients",
    "a-person-asks-what-happened-to-their-account",
  ];

  test("each has its section, and each section its rule or a person who reports it", () => {
    const named = rules.map(({ annotations: { page } }) => page.replace("respond.md#", ""));
    const anchors = sections.map((section) => section.replaceAll(",", ""));
    expect([...new Set([...named, ...reported])].toSorted()).toEqual(anchors.toSorted());
  });

  test("each counts events that a line can have", () => {
    const known = read("../reference/log-events.md");
    const expressions = rules.flatMap(({ data }) => data.flatMap(({ model: { expr } }) => expr ?? []));
    const events = expressions.flatMap((expr) => /"event":"\(([^)]+)\)"/.exec(expr)?.[1]?.split("|") ?? []);
    expect(events.length).toBeGreaterThan(10);
    expect(events.filter((event) => !known.includes(`| \`${event}\` |`))).toEqual([]);
    expect(monitor).toContain("(alerts.json)");
  });

  test("each notification of Cloudflare has its section, and only the values that the page gives", () => {
    const policies = JSON.parse(read("cloudflare-alerts.json")) as readonly {
      readonly alert_type: string;
      readonly description: string;
    }[];
    expect(policies.map(({ alert_type: type }) => type)).toEqual([
      "health_check_status_notification",
      "incident_alert",
    ]);
    for (const { description } of policies) expect(sections).toContain(description.replace("respond.md#", ""));
    expect(new Set(read("cloudflare-alerts.json").match(/\$\w+/g))).toEqual(
      new Set(["$HEALTH_CHECK", "$READY_CHECK", "$EMAIL"]),
    );
    expect(monitor).toContain("(cloudflare-alerts.json)");
  });

  /** What Grafana's reader of provisioning files requires: one rule that it refuses makes it refuse the file. */
  test("Grafana's provisioning accepts each of them", () => {
    const file = JSON.parse(read("alerts.json")) as Readonly<Record<string, unknown>>;
    expect(file).toMatchObject({ apiVersion: 1, groups: [{ name: expect.any(String), folder: expect.any(String) }] });
    const duration = /^\d+[smhdw]$/;
    const known = ["uid", "title", "condition", "for", "noDataState", "execErrState", "annotations", "labels", "data"];
    const uids = rules.map(({ uid }) => uid);
    expect(new Set(uids).size).toBe(rules.length);
    for (const rule of rules) {
      expect([rule.uid, rule.uid.length <= 40]).toEqual([expect.stringMatching(/^[\w-]+$/), true]);
      expect(Object.keys(rule).filter((member) => !known.includes(member))).toEqual([]);
      expect(rule.for).toMatch(duration);
      expect(["Alerting", "NoData", "OK", "KeepLast"]).toContain(rule.noDataState);
      expect(rule.data.map(({ refId }) => refId)).toContain(rule.condition);
      for (const { refId, datasourceUid, relativeTimeRange: range, model } of rule.data) {
        expect(model.refId).toBe(refId);
        if (datasourceUid !== "__expr__") expect(range!.from).toBeGreaterThan(range!.to);
      }
    }
  });

  test("Grafana imports the dashboard: it has what its schema requires", () => {
    const whole = dashboard as unknown as Readonly<Record<string, unknown>>;
    for (const member of ["annotations", "schemaVersion", "templating", "time", "title", "uid"])
      expect(whole, member).toHaveProperty(member);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { type, gridPos } of dashboard.panels)
      expect({ type, gridPos }).toEqual({
        type: expect.any(String),
        gridPos: { x: expect.any(Number), y: expect.any(Number), w: expect.any(Number), h: expect.any(Number) },
      });
  });

  test("each has a threshold on what it finds", () => {
    for (const { data } of rules) expect(data.map(({ datasourceUid }) => datasourceUid)).toContain("__expr__");
  });
});
