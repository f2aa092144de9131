import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import type { ManagementEnv } from "@edge-op/workers/env";
import { createApp } from "./app.ts";
import { createAuditConsumer } from "./audit/audit-consumer.ts";
import { createIsolate, type ManagementIsolate } from "./isolate.ts";

/** **Every event that op-management handles**: requests and the audit queue. */
export function createWorker(isolate: ManagementIsolate = createIsolate()) {
  return {
    fetch: reportFacts("op-management", createApp(isolate).fetch),
    queue: createAuditConsumer(),
  } satisfies ExportedHandler<ManagementEnv, AuditMessage>;
}
