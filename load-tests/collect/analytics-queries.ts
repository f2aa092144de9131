/**
 * **The queries of Cloudflare's GraphQL Analytics API**, restricted to one deployment's scripts, database and namespaces and to the time window of
 * one run. There are two queries; the first one returns the namespaces of the objects.
 *
 * @see https://developers.cloudflare.com/analytics/graphql-api/
 * @see https://developers.cloudflare.com/durable-objects/observability/metrics-and-analytics/
 */

export interface DeploymentIds {
  readonly accountId: string;
  /** Names of the deployment's Workers. */
  readonly scripts: readonly string[];
  readonly databaseId: string | undefined;
  readonly namespaceIds: readonly string[];
}

export interface Query {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The API's largest page. A window of minutes over a few hundred objects stays below it; a full page is refused as truncated. */
export const rowLimit = 10_000;

export function invocationsQuery(ids: DeploymentIds, from: string, to: string): Query {
  const window = "datetime_geq: $from, datetime_leq: $to";
  const database =
    ids.databaseId === undefined
      ? ""
      : `d1AnalyticsAdaptiveGroups(limit: ${rowLimit}, filter: { databaseId: $databaseId, ${window} }) {
        sum { readQueries writeQueries rowsRead rowsWritten }
        quantiles { queryBatchTimeMsP90 }
        dimensions { databaseId }
      }`;
  const namespaces =
    ids.namespaceIds.length === 0
      ? ""
      : `kvOperationsAdaptiveGroups(limit: ${rowLimit}, filter: { namespaceId_in: $namespaceIds, ${window} }) {
        sum { requests }
        quantiles { latencyMsP99 }
        dimensions { actionType namespaceId }
      }`;
  return {
    query: `query Run($accountTag: string!, $scripts: [string!], $from: Time!, $to: Time!, $databaseId: string, $namespaceIds: [string!]) {
  viewer {
    accounts(filter: { accountTag: $accountTag }) {
      workersInvocationsAdaptive(limit: ${rowLimit}, filter: { scriptName_in: $scripts, ${window} }) {
        sum { requests errors subrequests }
        quantiles { cpuTimeP50 cpuTimeP99 wallTimeP50 wallTimeP99 }
        dimensions { scriptName }
      }
      durableObjectsInvocationsAdaptiveGroups(limit: ${rowLimit}, filter: { scriptName_in: $scripts, ${window} }) {
        sum { requests errors }
        quantiles { wallTimeP50 wallTimeP99 }
        dimensions { scriptName namespaceId objectId }
      }
      ${database}
      ${namespaces}
    }
  }
}`,
    variables: {
      accountTag: ids.accountId,
      scripts: ids.scripts,
      from,
      to,
      databaseId: ids.databaseId,
      namespaceIds: ids.namespaceIds,
    },
  };
}

/** Names and CPU of the objects, which only the periodic data set contains. */
export function objectsQuery(
  ids: DeploymentIds,
  objectNamespaceIds: readonly string[],
  from: string,
  to: string,
): Query {
  return {
    query: `query Objects($accountTag: string!, $namespaceIds: [string!], $from: Time!, $to: Time!) {
  viewer {
    accounts(filter: { accountTag: $accountTag }) {
      durableObjectsPeriodicGroups(limit: ${rowLimit}, filter: { namespaceId_in: $namespaceIds, datetime_geq: $from, datetime_leq: $to }) {
        sum { cpuTime }
        dimensions { namespaceId objectId name }
      }
    }
  }
}`,
    variables: { accountTag: ids.accountId, namespaceIds: objectNamespaceIds, from, to },
  };
}
