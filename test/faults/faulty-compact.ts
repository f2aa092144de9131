/** **The compact Worker with objects that fail on demand**: the paths of faulty-objects.ts are served on every socket. */

import { createIsolate } from "../../packages/op-compact/src/isolate.ts";
import type { CompactEnv } from "../../packages/op-compact/src/worker.ts";
import { createWorker } from "../../packages/op-compact/src/worker.ts";
import { createTokenValidation } from "../../packages/op-management/src/introspection/token-validation.ts";
import type { AuditMessage } from "../../packages/shared/src/audit/audit-event.ts";
import faultyObjects from "./faulty-objects.ts";

export * from "./faulty-objects.ts";

const isolate = createIsolate();
const worker = createWorker(isolate);
const controlPaths = /^\/(?:faults|calls|end\/.*)$/;

export const TokenValidation = createTokenValidation(isolate);

export default {
  ...worker,
  fetch(request, env, execution): Response | Promise<Response> {
    const isControl = controlPaths.test(new URL(request.url).pathname);
    return isControl ? faultyObjects.fetch(request, env) : worker.fetch(request, env, execution);
  },
} satisfies ExportedHandler<CompactEnv, AuditMessage>;
