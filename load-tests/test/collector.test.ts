import { expect, test } from "vitest";
import { type DeploymentIds, invocationsQuery, objectsQuery, rowLimit } from "../collect/analytics-queries.ts";
import { type Account, accountOf, objectNamespacesOf, readAnalytics } from "../collect/read-analytics.ts";

const ids: DeploymentIds = {
  accountId: "account",
  scripts: ["op", "op-state"],
  databaseId: "database",
  namespaceIds: ["kv"],
};
const from = "2026-11-20T10:00:00.000Z";
const to = "2026-11-20T10:04:00.000Z";

/** In the documented form of a reply: groups with `sum`, `quantiles` (microseconds) and `dimensions`. */
const invocations = {
  data: {
    viewer: {
      accounts: [
        {
          workersInvocationsAdaptive: [
            {
              dimensions: { scriptName: "op" },
              quantiles: { cpuTimeP50: 812, cpuTimeP99: 2401, wallTimeP50: 11_250, wallTimeP99: 48_020 },
              sum: { errors: 2, requests: 43_874, subrequests: 43_874 },
            },
          ],
          durableObjectsInvocationsAdaptiveGroups: [
            {
              dimensions: { namespaceId: "n1", objectId: "id-1", scriptName: "op-state" },
              quantiles: { wallTimeP50: 1100, wallTimeP99: 9800 },
              sum: { errors: 0, requests: 120 },
            },
            {
              dimensions: { namespaceId: "n1", objectId: "id-2", scriptName: "op-state" },
              quantiles: { wallTimeP50: 1000, wallTimeP99: 7000 },
              sum: { errors: 1, requests: 480 },
            },
          ],
          d1AnalyticsAdaptiveGroups: [
            {
              dimensions: { databaseId: "database" },
              quantiles: { queryBatchTimeMsP90: 3.5 },
              sum: { readQueries: 40, rowsRead: 120, rowsWritten: 3, writeQueries: 2 },
            },
          ],
          kvOperationsAdaptiveGroups: [
            {
              dimensions: { actionType: "read", namespaceId: "kv" },
              quantiles: { latencyMsP99: 21 },
              sum: { requests: 900 },
            },
          ],
        },
      ],
    },
  },
  errors: null,
};
const periodic = {
  data: {
    viewer: {
      accounts: [
        {
          durableObjectsPeriodicGroups: [
            {
              dimensions: { name: "revocation:g1:wnam:3", namespaceId: "n1", objectId: "id-2" },
              sum: { cpuTime: 91_000 },
            },
          ],
        },
      ],
    },
  },
  errors: null,
};

test("reads Workers, objects by name, D1 and KV, with microseconds as milliseconds and the busiest object first", () => {
  const metrics = readAnalytics(ids, accountOf(invocations), accountOf(periodic), from, to);
  expect(metrics).toEqual({
    from,
    to,
    workers: [
      {
        script: "op",
        requests: 43_874,
        errors: 2,
        cpuP50Ms: 0.812,
        cpuP99Ms: 2.401,
        wallP50Ms: 11.25,
        wallP99Ms: 48.02,
      },
    ],
    objects: [
      {
        script: "op-state",
        name: "revocation:g1:wnam:3",
        requests: 480,
        errors: 1,
        wallP50Ms: 1,
        wallP99Ms: 7,
        cpuMs: 91,
      },
      { script: "op-state", name: "id-1", requests: 120, errors: 0, wallP50Ms: 1.1, wallP99Ms: 9.8, cpuMs: 0 },
    ],
    d1: { readQueries: 40, writeQueries: 2, rowsRead: 120, rowsWritten: 3, queryP90Ms: 3.5 },
    kv: [{ action: "read", requests: 900, p99Ms: 21 }],
  });
});

test("every data set is queried only for this deployment and the window of the run", () => {
  const { query, variables } = invocationsQuery(ids, from, to);
  const filters = [...query.matchAll(/filter: \{ ([^}]*) \}/g)].map(([, filter]) => filter);
  expect(filters.slice(1)).toEqual([
    "scriptName_in: $scripts, datetime_geq: $from, datetime_leq: $to",
    "scriptName_in: $scripts, datetime_geq: $from, datetime_leq: $to",
    "databaseId: $databaseId, datetime_geq: $from, datetime_leq: $to",
    "namespaceId_in: $namespaceIds, datetime_geq: $from, datetime_leq: $to",
  ]);
  expect(variables).toMatchObject({
    accountTag: "account",
    scripts: ["op", "op-state"],
    databaseId: "database",
    from,
    to,
  });
  const objects = objectsQuery(ids, objectNamespacesOf(accountOf(invocations)), from, to);
  expect(objects.variables).toMatchObject({ namespaceIds: ["n1"], from, to });
});

test("a deployment without a database and KV is not queried for them", () => {
  const { query } = invocationsQuery({ ...ids, databaseId: undefined, namespaceIds: [] }, from, to);
  expect(query).not.toMatch(/d1Analytics|kvOperations/);
});

function withRows(dataset: string, rows: NonNullable<Account[string]>): Account {
  return { ...accountOf(invocations), [dataset]: rows };
}

test.each([
  ["workersInvocationsAdaptive", { scriptName: "shop" }],
  ["durableObjectsInvocationsAdaptiveGroups", { scriptName: "shop", namespaceId: "n1", objectId: "id-1" }],
  ["d1AnalyticsAdaptiveGroups", { databaseId: "another" }],
  ["kvOperationsAdaptiveGroups", { namespaceId: "another", actionType: "read" }],
])("a row of another deployment in %s is refused", (dataset, dimensions) => {
  const account = withRows(dataset, [{ dimensions }]);
  expect(() => readAnalytics(ids, account, accountOf(periodic), from, to)).toThrow("not of this deployment");
});

test("errors, a missing account and a truncated page are refused", () => {
  expect(() => accountOf({ data: null, errors: [{ message: "not authorized for that account" }] })).toThrow(
    "not authorized",
  );
  expect(() => accountOf({ data: { viewer: { accounts: [] } } })).toThrow("no account");
  const full = Array.from({ length: rowLimit }, () => ({ dimensions: { scriptName: "op" } }));
  expect(() => accountOf({ data: { viewer: { accounts: [{ workersInvocationsAdaptive: full }] } } })).toThrow(
    "cut off",
  );
});
