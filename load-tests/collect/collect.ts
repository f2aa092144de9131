/**
 * **`node load-tests/collect/collect.ts <run directory…>`**: adds Cloudflare's measurements during each run to its record, and writes its report
 * again. Wait some minutes after a run, because the platform's figures arrive late.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { renderReport } from "../report/render.ts";
import type { RunRecord } from "../report/run-record.ts";
import { nameOf } from "../report/tables.ts";
import { type DeploymentIds, invocationsQuery, objectsQuery, type Query } from "./analytics-queries.ts";
import { type Account, AnalyticsError, accountOf, objectNamespacesOf, readAnalytics } from "./read-analytics.ts";

const endpoint = "https://api.cloudflare.com/client/v4/graphql";

const usage = `node load-tests/collect/collect.ts <run directory…> [options]

  --scripts A,B    this deployment's Workers (default: op,op-auth,op-console,op-token,op-management,op-userinfo,op-state)
  --database ID    its D1 database
  --kv ID,ID       its KV namespaces

  CLOUDFLARE_ACCOUNT_ID, and CLOUDFLARE_API_TOKEN with "Account Analytics: Read".`;

async function ask(query: Query, token: string): Promise<Account> {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(query),
  });
  if (!response.ok) throw new AnalyticsError(`${endpoint} answered ${response.status}: ${await response.text()}`);
  return accountOf((await response.json()) as Parameters<typeof accountOf>[0]);
}

async function collect(directory: string, ids: DeploymentIds, token: string): Promise<void> {
  const path = join(directory, "run.json");
  const record = JSON.parse(readFileSync(path, "utf8")) as RunRecord;
  const { startedAt: from, endedAt: to } = record;
  const invocations = await ask(invocationsQuery(ids, from, to), token);
  const periodic = await ask(objectsQuery(ids, objectNamespacesOf(invocations), from, to), token);
  const merged: RunRecord = { ...record, platform: readAnalytics(ids, invocations, periodic, from, to) };
  writeFileSync(path, `${JSON.stringify(merged, null, 2)}\n`);
  const report = renderReport(nameOf(merged), [merged]);
  writeFileSync(join(directory, "report.md"), report.markdown);
  writeFileSync(join(directory, "report.html"), report.html);
  console.log(
    `${nameOf(merged)}: ${merged.platform!.workers.length} Workers, ${merged.platform!.objects.length} objects`,
  );
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    scripts: { type: "string", default: "op,op-auth,op-console,op-token,op-management,op-userinfo,op-state" },
    database: { type: "string" },
    kv: { type: "string" },
  },
});
const { CLOUDFLARE_ACCOUNT_ID: accountId, CLOUDFLARE_API_TOKEN: token } = process.env;
if (positionals.length === 0 || accountId === undefined || token === undefined) {
  console.error(usage);
  process.exit(2);
}
const ids: DeploymentIds = {
  accountId,
  scripts: values.scripts.split(","),
  databaseId: values.database,
  namespaceIds: values.kv?.split(",") ?? [],
};
for (const directory of positionals) await collect(directory, ids, token);
