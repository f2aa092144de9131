import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import { createApp } from "./app.ts";
import { consumeAudit } from "./audit/audit-consumer.ts";
import type { ManagementEnv } from "./management-env.ts";

const app = createApp();

export default {
  fetch: reportFacts("op-management", app.fetch),
  queue: consumeAudit,
} satisfies ExportedHandler<ManagementEnv, AuditMessage>;
