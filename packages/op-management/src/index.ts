import type { AuditMessage } from "@edge-op/shared/audit/audit-event";
import { createApp } from "./app.ts";
import { consumeAudit } from "./audit/audit-consumer.ts";
import type { ManagementEnv } from "./management-env.ts";

const app = createApp();

export default {
  fetch: app.fetch,
  queue: consumeAudit,
} satisfies ExportedHandler<ManagementEnv, AuditMessage>;
