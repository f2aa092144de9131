import { registrationBody } from "@edge-op/shared/http/received-request";
import { Router } from "@edge-op/shared/http/router";
import { serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { ManagementEnv } from "@edge-op/workers/env";
import { adminRoutes } from "./admin-routes.ts";
import { ReadinessChecks } from "./deployment/check-readiness.ts";
import { readinessEndpoint } from "./deployment/readiness-endpoint.ts";
import { introspectionEndpoint } from "./introspection/introspection-endpoint.ts";
import { createIsolate, type ManagementIsolate } from "./isolate.ts";
import { mailEventBody, mailEventsEndpoint } from "./mail/mail-events-endpoint.ts";
import { deleteRegistration, readRegistration, replaceRegistration } from "./registration/manage-registration.ts";
import { registrationEndpoint } from "./registration/registration-endpoint.ts";
import { revocationEndpoint } from "./revocation/revocation-endpoint.ts";

/** **The routes of op-management.** An app uses the memory of one isolate; tests create several. */
export function createApp(isolate: ManagementIsolate = createIsolate()) {
  const app = new Router<ManagementEnv>(isolate.reports);
  serveEndpoint(app, "/introspect", { POST: (context, request) => introspectionEndpoint(context, isolate, request) });
  serveEndpoint(
    app,
    "/revoke",
    { POST: (context, request) => revocationEndpoint(context, isolate, request) },
    { cors: "when asked" },
  );
  serveEndpoint(
    app,
    "/register",
    { POST: (context, request) => registrationEndpoint(context, isolate, request) },
    { cors: "when asked", body: registrationBody },
  );
  serveEndpoint(
    app,
    "/register/:client_id",
    {
      GET: (context, request, { client_id: id = "" }) => readRegistration(context, isolate, request, id),
      PUT: (context, request, { client_id: id = "" }) => replaceRegistration(context, isolate, request, id),
      DELETE: (context, request, { client_id: id = "" }) => deleteRegistration(context, isolate, request, id),
    },
    { cors: "when asked", body: registrationBody },
  );
  serveEndpoint(
    app,
    "/mail/events",
    { POST: (context, request) => mailEventsEndpoint(context, request) },
    { body: mailEventBody },
  );
  const checks = new ReadinessChecks();
  serveEndpoint(app, "/ready", {
    GET: (context, request) => readinessEndpoint(context, isolate, checks, request),
  });
  app.mount("/admin", adminRoutes(isolate));
  return app;
}
