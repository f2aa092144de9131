import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { UserinfoEnv } from "@edge-op/workers/env";
import { createIsolate, type UserinfoIsolate } from "./isolate.ts";
import { userinfoEndpoint } from "./userinfo-endpoint.ts";

/** **The route of op-userinfo.** An app has the memory of one isolate; tests create several. */
export function createApp(isolate: UserinfoIsolate = createIsolate()) {
  const app = new Router<UserinfoEnv>(isolate.reports);
  serveEndpoint(
    app,
    "/userinfo",
    {
      GET: (context, request) => userinfoEndpoint(context, isolate, request),
      POST: (context, request) => userinfoEndpoint(context, isolate, request),
    },
    { cors: "when asked" },
  );
  return app;
}
