import { createAppWith } from "@edge-op/op/app";
import type { CallOwner } from "@edge-op/op/forwarding";
import type { OwnPathsEnv } from "@edge-op/op/isolate";
import type { AuthEnv } from "@edge-op/op-auth/runtime/auth-env";
import type { OwnEnv as ConsoleOwnEnv } from "@edge-op/op-console/api/console-call";
import type { QueuedMessage } from "@edge-op/op-management/worker";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import type { Execution } from "@edge-op/shared/http/router";
import { onFirstUse } from "@edge-op/shared/runtime/on-first-use";
import type { ManagementEnv, TokenEnv, UserinfoEnv } from "@edge-op/workers/env";
import type { Owner } from "@edge-op/workers/paths";
import { type CompactIsolate, createIsolate } from "./isolate.ts";

interface App {
  fetch(request: Request, env: CompactEnv, execution: Execution): Response | Promise<Response>;
}

/**
 * **All Workers in one** (ADR 32): the front door with its table of paths, which calls the other apps as functions instead of calling separate
 * Workers over service bindings. Each app is loaded by the first request to one of its paths. Other events (the audit queue, the clock) go to
 * op-management. Cost of a request: that of its endpoint, without a hop.
 */
export function createWorker(isolate: CompactIsolate = createIsolate()) {
  const management = onFirstUse(async () => (await import("@edge-op/op-management/worker")).createWorker(isolate));
  const call: CallOwner<CompactEnv> = (owner, ...request) => {
    const app = apps[owner]();
    return app instanceof Promise ? app.then((loaded) => loaded.fetch(...request)) : app.fetch(...request);
  };
  const apps: Readonly<Record<Owner, () => App | Promise<App>>> = {
    TOKEN: onFirstUse(async () => (await import("@edge-op/op-token/app")).createApp(isolate)),
    MANAGEMENT: management,
    USERINFO: onFirstUse(async () => (await import("@edge-op/op-userinfo/app")).createApp(isolate)),
    AUTH: onFirstUse(async () => (await import("@edge-op/op-auth/app")).createApp(isolate)),
    CONSOLE: onFirstUse(async () => (await import("@edge-op/op-console/app")).createAppWith<CompactEnv>(call)),
  };
  return {
    fetch: reportFacts("op-compact", createAppWith(call, isolate).fetch),
    scheduled: async (...event) => (await management()).scheduled(...event),
    queue: async (...event) => (await management()).queue(...event),
  } satisfies ExportedHandler<CompactEnv, QueuedMessage>;
}

/** **The bindings of the compact Worker** (wrangler.toml): those of all separate Workers, without the service bindings. */
export type CompactEnv = AuthEnv & ConsoleOwnEnv & ManagementEnv & OwnPathsEnv & TokenEnv & UserinfoEnv;
