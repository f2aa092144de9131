import { describe, expect, test } from "vitest";
import { type MachineLoad, measureMachineLoad } from "../lib/machine-load.ts";
import { askedRequests, loadOf } from "../lib/presets.ts";
import { contradictionsOf } from "../report/contradictions.ts";
import { type K6Summary, readSummary } from "../report/read-summary.ts";
import { renderReport } from "../report/render.ts";
import { limitOf, type RunOutcome, type RunRecord, verdictOf } from "../report/run-record.ts";

const latency = { min: 1, p50: 4, p95: 9, p99: 12, max: 40 };
const load = loadOf("userinfo", "rps1000", "reference");
const asked = askedRequests(load);

const outcome: RunOutcome = {
  asked,
  finished: asked,
  dropped: 0,
  answers: asked,
  latency,
  answered: 1,
  classes: { valid: { requests: asked, wrong: 0, latency } },
  storage: { object: { mean: 0, max: 0 }, kv: { mean: 0.01, max: 1 }, d1: { mean: 0, max: 0 } },
  thresholds: [{ metric: "class_valid_wrong", condition: "count<1", met: true }],
  exitCode: 0,
  seconds: 210,
};

function record(change: Partial<RunOutcome> = {}): RunRecord {
  return {
    format: 1,
    scenario: "userinfo",
    variant: "",
    load,
    startedAt: "2026-11-20T10:00:00.000Z",
    endedAt: "2026-11-20T10:04:00.000Z",
    command: "npm run load -- userinfo rps1000",
    commit: "abc1234",
    target: {
      origin: "https://op.example.com",
      issuer: "https://op.example.com",
      mode: "strict",
      topology: "front door",
      shardMap: "revocation 8",
    },
    machine: {
      cpu: "test",
      cores: 2,
      memoryGb: 8,
      system: "linux",
      node: "v24",
      k6: "k6 v1.8.1",
      sharedWithProvider: false,
    },
    outcome: { ...outcome, ...change },
  };
}

test("the reference's Worker duration has its own table, apart from client percentiles", () => {
  const { markdown } = renderReport("Report", [record()]);
  expect(markdown).toContain("| userinfo rps1000 reference | 146,625 | 698 of 698 | 4.00 | 9.00 | 12 | 0 | 0 | pass |");
  const [results = "", reference = ""] = markdown.split("## ").slice(1);
  expect(results).not.toContain("146,231");
  expect(reference).toContain("Worker duration");
  expect(reference).toContain("| userinfo rps1000 | 146,231 | 114 | 139 | 200 | 8.00 | 0 |");
});

test("the report contains commit, topology, mode, shard map, machine, command and the limit of the run", () => {
  const { markdown } = renderReport("Report", [record()]);
  for (const stated of [
    "abc1234",
    "front door, strict, revocation 8",
    "test, 2 cores, 8 GB",
    "npm run load -- userinfo rps1000",
    "the rate asked for was held",
  ]) {
    expect(markdown).toContain(stated);
  }
});

/** The same run at another rate. */
function atRate(rate: number, change: Partial<RunRecord> = {}): RunRecord {
  const other = loadOf("userinfo", `rps${rate}`, "reference");
  const requests = askedRequests(other);
  const classes = { valid: { requests, wrong: 0, latency } };
  const answered = { ...outcome, asked: requests, finished: requests, answers: requests, classes };
  return { ...record(), load: other, outcome: answered, ...change };
}

test("the HTML page is self-contained, and its four plots follow the tables", () => {
  const { html } = renderReport("Report", [record(), atRate(2000)]);
  expect(html.match(/<svg /g)).toHaveLength(4);
  expect(html.indexOf("<svg ")).toBeGreaterThan(html.lastIndexOf("</table>"));
  expect(html).not.toMatch(/<script|<link|src=|https?:\/\/(?!op\.example\.com)/);
});

test.each<[string, Partial<RunRecord>]>([
  ["variants", { variant: "32 shards" }],
  ["commits", { commit: "def5678" }],
  ["shard maps", { target: { ...record().target, shardMap: "revocation 32" } }],
  ["modes", { target: { ...record().target, mode: "direct" } }],
])("runs with different %s are not joined by a line, and a single rate has no plot", (_, change) => {
  expect(renderReport("Report", [record(), atRate(2000, change)]).html).not.toContain("<svg ");
  expect(
    renderReport("Report", [record(), atRate(2000, change), atRate(3000, change)]).html.match(/<svg /g),
  ).toHaveLength(4);
});

test("text from a run is escaped in HTML", () => {
  const { html } = renderReport("<b>", [{ ...record(), command: "<img onerror=x>" }]);
  expect(html).not.toContain("<img");
  expect(html).toContain("&lt;b&gt;");
});

const contradictions: [string, Partial<RunOutcome>, string][] = [
  ["a maximum below p95", { latency: { ...latency, max: 8 } }, "min ≤ p50 ≤ p95 ≤ p99 ≤ max"],
  ["a p50 above p95", { latency: { ...latency, p50: 10 } }, "min ≤ p50 ≤ p95 ≤ p99 ≤ max"],
  [
    "a class that is slower than the slowest",
    { classes: { valid: { requests: asked, wrong: 0, latency: { ...latency, max: 41 } } } },
    "slower than the slowest",
  ],
  ["classes that do not add up", { finished: asked - 1 }, "the run finished"],
  [
    "more wrong answers than requests",
    { classes: { valid: { requests: asked, wrong: asked + 1, latency } } },
    "more wrong answers",
  ],
  ["a passed run that dropped iterations", { dropped: 1 }, "dropped iterations"],
  [
    "a passed run that finished too little",
    { finished: 10, classes: { valid: { requests: 10, wrong: 0, latency } } },
    "less finished",
  ],
  ["a mean of calls above their maximum", { storage: { ...outcome.storage!, kv: { mean: 2, max: 1 } } }, "kv calls"],
  ["a pass without thresholds", { thresholds: [] }, "without a threshold"],
];

test.each(contradictions)("%s is refused, not printed", (_, change, message) => {
  expect(contradictionsOf(record(change)).join()).toContain(message);
  expect(() => renderReport("Report", [record(change)])).toThrow("contradicts itself");
});

test("a run without contradictions has none", () => {
  expect(contradictionsOf(record())).toEqual([]);
});

test("the verdict is fail if k6 crossed a threshold, and aborted if a response was wrong", () => {
  expect(verdictOf({ ...outcome, exitCode: 99 })).toBe("fail");
  expect(verdictOf({ ...outcome, exitCode: 99, classes: { valid: { requests: asked, wrong: 1, latency } } })).toBe(
    "aborted: wrong answers",
  );
  expect(verdictOf({ ...outcome, exitCode: 107 })).toBe("did not run");
});

test("dropped iterations are the provider's fault if its responses used up the virtual users, else the generator's", () => {
  expect(limitOf(record({ dropped: 5, exitCode: 99 }))).toContain("the generator");
  const slow = { min: 1, p50: 1000, p95: 1400, p99: 1500, max: 1600 };
  expect(limitOf(record({ dropped: 5, exitCode: 99, latency: slow }))).toContain("the provider");
});

describe("on a machine shared by generator and provider", () => {
  const slow = { min: 1, p50: 1000, p95: 1400, p99: 1500, max: 1600 };
  const failed = record({ dropped: 5, exitCode: 99, latency: slow });
  const shared: RunRecord = { ...failed, machine: { ...failed.machine, sharedWithProvider: true } };
  const limited = (load: Partial<MachineLoad>) =>
    limitOf({ ...shared, machineLoad: { loadAverageBefore: 1, busy: 0.7, generator: 0.3, provider: 0.35, ...load } });

  test("the provider is blamed only if the processors' shares leave no other explanation", () => {
    expect(limited({})).toMatch(/^the provider: .*processors 70 % busy, generator 30 %, provider 35 %, others 5 %/);
    expect(limited({ busy: 0.95, provider: 0.2, loadAverageBefore: 7.4 })).toMatch(
      /^not shown \(.*other work used the machine: load average 7\.4 before, .*others 45 %/,
    );
    expect(limited({ busy: 0.98, generator: 0.5, provider: 0.45 })).toMatch(/^the machine, which both share/);
  });

  test("without a record of the processors, or of the provider's part, nobody is blamed", () => {
    expect(limitOf(shared)).toMatch(/^not shown/);
    const { provider: _, ...unknown } = { loadAverageBefore: 1, busy: 0.7, generator: 0.3, provider: 0.35 };
    expect(limitOf({ ...shared, machineLoad: unknown })).toMatch(/^not shown/);
  });

  test("a run that missed a latency threshold did not hold", () => {
    const missed = record({ exitCode: 99, thresholds: [{ metric: "answer_ms", condition: "p(99)<800", met: false }] });
    expect(limitOf(missed)).toBe("the provider: its answers missed a threshold");
  });

  test("measures the use of the machine", () => {
    const measured = measureMachineLoad(process.pid)();
    if (measured === undefined) return expect(process.platform).not.toBe("linux");
    for (const share of [measured.busy, measured.generator, measured.provider!]) {
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(1);
    }
  });
});

test("one slow moment is enough to use them up, sooner with several requests per iteration", () => {
  const stalled = { ...latency, max: 900 };
  const dropped = { dropped: 5, exitCode: 99, latency: stalled };
  expect(limitOf(record(dropped))).toContain("the generator");
  expect(limitOf(record({ ...dropped, answers: asked * 2 }))).toContain("the provider, at times");
  expect(limitOf(record({ ...dropped, latency: { ...latency, max: 1600 } }))).toContain("the provider, at times");
});

test("k6's summary is read by class, with storage calls and thresholds", () => {
  const trend = { values: { count: 120, min: 1, med: 2, "p(95)": 3, "p(99)": 4, max: 5 } };
  const calls = { values: { count: 120, avg: 0.5, max: 1 } };
  const summary: K6Summary = {
    state: { testRunDurationMs: 6100 },
    metrics: {
      class_valid_requests: { values: { count: 120 } },
      class_valid_wrong: { values: { count: 0 }, thresholds: { "count<1": { ok: true } } },
      class_valid_ms: trend,
      answer_ms: trend,
      answered: { values: { rate: 1 } },
      object_calls: calls,
      kv_calls: calls,
      d1_calls: calls,
      dropped_iterations: { values: { count: 0 }, thresholds: { "count<1": { ok: true } } },
    },
  };
  const read = readSummary(summary, "userinfo", loadOf("userinfo", "smoke", "reference"), 0);
  expect(read.classes["valid"]).toEqual({
    requests: 120,
    wrong: 0,
    latency: { min: 1, p50: 2, p95: 3, p99: 4, max: 5 },
  });
  expect(read.storage?.object).toEqual({ mean: 0.5, max: 1 });
  expect(read.thresholds).toHaveLength(2);
  expect(read.asked).toBe(120);
  expect(read.seconds).toBe(6);
});
