import { createAppWith } from "@edge-op/op/app";
import type { CallOwner } from "@edge-op/op/forwarding";
import { createApp as createAuth } from "@edge-op/op-auth/app";
import { createAppWith as createConsoleWith } from "@edge-op/op-console/app";
import { createWorker as createManagement } from "@edge-op/op-management/worker";
import { createApp as createToken } from "@edge-op/op-token/app";
import { createApp as createUserinfo } from "@edge-op/op-userinfo/app";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import type { Owner } from "@edge-op/workers/paths";
import type { CompactEnv } from "./compact-env.ts";
import { type CompactIsolate, createIsolate } from "./isolate.ts";

/**
 * **All Workers in one** (ADR 32): the front door with its table of paths, which calls the other apps as functions instead of calling separate
 * Workers over service bindings. Other events (the audit queue) go to op-management. Cost of a request: that of its endpoint, without a hop.
 */
export function createWorker(isolate: CompactIsolate = createIsolate()) {
  const management = createManagement(isolate);
  const call: CallOwner<CompactEnv> = (owner, request, env, execution) => apps[owner].fetch(request, env, execution);
  const apps = {
    AUTH: createAuth(isolate),
    TOKEN: createToken(isolate),
    MANAGEMENT: management,
    USERINFO: createUserinfo(isolate),
    CONSOLE: createConsoleWith<CompactEnv>((...request) => call(...request)),
  } satisfies Record<Owner, unknown>;
  return { ...management, fetch: reportFacts("op-compact", createAppWith(call, isolate).fetch) };
}
