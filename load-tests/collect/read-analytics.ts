import type { PlatformMetrics } from "../report/run-record.ts";
import { type DeploymentIds, rowLimit } from "./analytics-queries.ts";

type Numbers = Readonly<Record<string, number>>;

interface Row {
  readonly sum?: Numbers;
  readonly quantiles?: Numbers;
  readonly dimensions: Readonly<Record<string, string>>;
}

export type Account = Readonly<Record<string, readonly Row[] | undefined>>;

export class AnalyticsError extends Error {
  override readonly name = "AnalyticsError";
}

interface Reply {
  readonly data?: { readonly viewer: { readonly accounts: readonly Account[] } } | null;
  readonly errors?: readonly { readonly message: string }[] | null;
}

/** The one account of a reply. */
export function accountOf(reply: Reply): Account {
  if (reply.errors !== undefined && reply.errors !== null && reply.errors.length > 0) {
    throw new AnalyticsError(reply.errors.map(({ message }) => message).join("; "));
  }
  const account = reply.data?.viewer.accounts[0];
  if (account === undefined) throw new AnalyticsError("the reply holds no account: does the token read its analytics?");
  for (const [dataset, rows] of Object.entries(account)) {
    if (rows !== undefined && rows.length >= rowLimit)
      throw new AnalyticsError(`${dataset} is cut off at ${rowLimit} rows`);
  }
  return account;
}

const microseconds = 1000;

function requireOurs(
  rows: readonly Row[] | undefined,
  dimension: string,
  ours: readonly (string | undefined)[],
): readonly Row[] {
  for (const { dimensions } of rows ?? []) {
    if (!ours.includes(dimensions[dimension])) {
      throw new AnalyticsError(
        `a row of ${dimension} ${String(dimensions[dimension])}, which is not of this deployment`,
      );
    }
  }
  return rows ?? [];
}

/** Namespaces of the objects that served the deployment's scripts. */
export function objectNamespacesOf(account: Account): string[] {
  const rows = account.durableObjectsInvocationsAdaptiveGroups ?? [];
  return [...new Set(rows.map(({ dimensions }) => dimensions.namespaceId ?? ""))];
}

/**
 * **Converts responses of the analytics API into a report's figures.** Throws for errors, for a full and therefore truncated page, and for a row of a
 * script, database or namespace of another deployment. The API returns times in microseconds.
 */
export function readAnalytics(
  ids: DeploymentIds,
  invocations: Account,
  periodic: Account,
  from: string,
  to: string,
): PlatformMetrics {
  const workers = requireOurs(invocations.workersInvocationsAdaptive, "scriptName", ids.scripts);
  const d1 = requireOurs(invocations.d1AnalyticsAdaptiveGroups, "databaseId", [ids.databaseId])[0];
  const kv = requireOurs(invocations.kvOperationsAdaptiveGroups, "namespaceId", ids.namespaceIds);
  return {
    from,
    to,
    workers: workers.map(({ sum, quantiles, dimensions }) => ({
      script: dimensions.scriptName!,
      requests: sum?.requests ?? 0,
      errors: sum?.errors ?? 0,
      cpuP50Ms: (quantiles?.cpuTimeP50 ?? 0) / microseconds,
      cpuP99Ms: (quantiles?.cpuTimeP99 ?? 0) / microseconds,
      wallP50Ms: (quantiles?.wallTimeP50 ?? 0) / microseconds,
      wallP99Ms: (quantiles?.wallTimeP99 ?? 0) / microseconds,
    })),
    objects: readObjects(ids, invocations, periodic),
    d1:
      d1 === undefined
        ? undefined
        : {
            readQueries: d1.sum?.readQueries ?? 0,
            writeQueries: d1.sum?.writeQueries ?? 0,
            rowsRead: d1.sum?.rowsRead ?? 0,
            rowsWritten: d1.sum?.rowsWritten ?? 0,
            queryP90Ms: d1.quantiles?.queryBatchTimeMsP90 ?? 0,
          },
    kv: kv.map(({ sum, quantiles, dimensions }) => ({
      action: dimensions.actionType ?? "",
      requests: sum?.requests ?? 0,
      p99Ms: quantiles?.latencyMsP99 ?? 0,
    })),
  };
}

/** Objects by name if the platform knows it (`revocation:g1:wnam:3`), otherwise by id; busiest first. */
function readObjects(ids: DeploymentIds, invocations: Account, periodic: Account): PlatformMetrics["objects"] {
  const rows = requireOurs(invocations.durableObjectsInvocationsAdaptiveGroups, "scriptName", ids.scripts);
  const known = new Map(
    requireOurs(periodic.durableObjectsPeriodicGroups, "namespaceId", objectNamespacesOf(invocations)).map((row) => [
      row.dimensions.objectId,
      row,
    ]),
  );
  const objects = rows.map(({ sum, quantiles, dimensions }) => {
    const more = known.get(dimensions.objectId);
    const name = more?.dimensions.name;
    return {
      script: dimensions.scriptName!,
      name: name === undefined || name === "" ? (dimensions.objectId ?? "") : name,
      requests: sum?.requests ?? 0,
      errors: sum?.errors ?? 0,
      wallP50Ms: (quantiles?.wallTimeP50 ?? 0) / microseconds,
      wallP99Ms: (quantiles?.wallTimeP99 ?? 0) / microseconds,
      cpuMs: (more?.sum?.cpuTime ?? 0) / microseconds,
    };
  });
  return objects.sort((a, b) => b.requests - a.requests);
}
