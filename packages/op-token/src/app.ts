import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { TokenEnv } from "@edge-op/workers/env";
import { createIsolate, type TokenIsolate } from "./isolate.ts";
import { tokenEndpoint } from "./token-endpoint.ts";

/** **The routes of op-token.** An app has the memory of one isolate; tests create several. */
export function createApp(isolate: TokenIsolate = createIsolate()) {
  const app = new Router<TokenEnv>(isolate.reports);
  serveEndpoint(
    app,
    "/token",
    { POST: (context, request) => tokenEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  return app;
}
