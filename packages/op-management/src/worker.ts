import type { JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { QueuedEvents } from "@edge-op/shared/audit/audit-event";
import { readSettings } from "@edge-op/shared/config/settings";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import type { ManagementEnv } from "@edge-op/workers/env";
import { createApp } from "./app.ts";
import { createAuditConsumer } from "./audit/audit-consumer.ts";
import { createIsolate, type ManagementIsolate } from "./isolate.ts";
import { failuresIn, recordFailures } from "./mail/address-failures.ts";

/** Cloudflare Email Sending delivers its events to the same queue (docs/operating/mail.md). */
export type QueuedMessage = QueuedEvents | (JsonObject & { readonly type: string });

function isMailEvent(body: QueuedMessage): body is Exclude<QueuedMessage, QueuedEvents> {
  return body.type.startsWith("cf.email.");
}

/** **Every event that op-management handles**: requests, the queue of audit events and of events of mail, and a clock that asks for `/ready`. */
export function createWorker(isolate: ManagementIsolate = createIsolate()) {
  const consumeAudit = createAuditConsumer();
  const app = createApp(isolate);
  return {
    fetch: reportFacts("op-management", app.fetch),
    // A request like any other: its data point and its line are what alerts are made of (docs/operating/monitor.md).
    scheduled: async (_controller, env, execution) => {
      await app.fetch(new Request(`${readSettings(env).issuer}/ready`), env, execution);
    },
    queue: async ({ messages }, env, execution) => {
      const bodies = messages.map(({ body }) => body);
      const failures = bodies.filter(isMailEvent).flatMap(failuresIn);
      if (failures.length > 0) await recordFailures({ env, settings: readSettings(env) }, failures);
      const events = bodies.filter((body) => !isMailEvent(body)) as readonly QueuedEvents[];
      if (events.length > 0) await consumeAudit(events, env, execution);
    },
  } satisfies ExportedHandler<ManagementEnv, QueuedMessage>;
}
