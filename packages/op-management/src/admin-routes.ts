import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { renderJson, reportFailure } from "@edge-op/shared/http/failure";
import { finishResponse } from "@edge-op/shared/http/finish-response";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readJson } from "@edge-op/shared/http/read-form";
import { type BodyFormat, jsonBody, ReceivedRequest, receiveRequest } from "@edge-op/shared/http/received-request";
import { arriveNow, createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { Router } from "@edge-op/shared/http/router";
import { handlerOf, serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import type { ManagementEnv } from "@edge-op/workers/env";
import { authorizeAdmin } from "./admin/authorize-admin.ts";
import type { AdminCall, AdminRoute } from "./admin/define-route.ts";
import { authorizeDelegate } from "./admin/delegate.ts";
import { describeApi } from "./admin/openapi.ts";
import { attributeRoutes } from "./attributes/attribute-routes.ts";
import { auditRoutes } from "./audit/audit-routes.ts";
import { brandingRoutes } from "./branding/branding-routes.ts";
import { clientRoutes } from "./clients/client-routes.ts";
import { revocationRoutes } from "./cut-offs/cut-off-routes.ts";
import { delegatedRoutes } from "./delegated-routes.ts";
import { deploymentRoutes } from "./deployment/deployment-routes.ts";
import { documentHostRoutes } from "./document-hosts/document-host-routes.ts";
import { heldRecordRoutes } from "./held-records/held-record-routes.ts";
import { exportRoutes } from "./import/export-routes.ts";
import { importRoutes } from "./import/import-routes.ts";
import { invitationRoutes } from "./invitations/invitation-routes.ts";
import type { ManagementIsolate } from "./isolate.ts";
import { issuerRoutes } from "./issuers/issuer-routes.ts";
import { keyRoutes } from "./keys/key-routes.ts";
import { organizationRoutes } from "./organizations/organization-routes.ts";
import { refusalRoutes } from "./refusals/refusal-routes.ts";
import { resourceRoutes } from "./resources/resource-routes.ts";
import { rbacRoutes } from "./roles/role-routes.ts";
import { scimTokenRoutes } from "./scim/token-routes.ts";
import { generationRoutes } from "./shards/generation-routes.ts";
import { leaseRoutes } from "./shards/lease-routes.ts";
import { upstreamRoutes } from "./upstreams/upstream-routes.ts";
import { accessRoutes } from "./users/access-routes.ts";
import { factorRoutes } from "./users/factor-routes.ts";
import { identityRoutes } from "./users/identity-routes.ts";
import { passwordRoutes } from "./users/password-routes.ts";
import { personalDataRoutes } from "./users/personal-data-routes.ts";
import { updateManyRoutes } from "./users/update-many.ts";
import { userRoutes } from "./users/user-routes.ts";

export const adminRouteTable: readonly AdminRoute[] = [
  ...clientRoutes,
  ...resourceRoutes,
  ...issuerRoutes,
  ...upstreamRoutes,
  ...documentHostRoutes,
  ...brandingRoutes,
  ...attributeRoutes,
  ...userRoutes,
  ...factorRoutes,
  ...identityRoutes,
  ...passwordRoutes,
  ...invitationRoutes,
  ...accessRoutes,
  ...personalDataRoutes,
  ...updateManyRoutes,
  ...importRoutes,
  ...exportRoutes,
  ...rbacRoutes,
  ...organizationRoutes,
  ...scimTokenRoutes,
  ...keyRoutes,
  ...revocationRoutes,
  ...generationRoutes,
  ...leaseRoutes,
  ...deploymentRoutes,
  ...heldRecordRoutes,
  ...auditRoutes,
  ...refusalRoutes,
];

const json = jsonBody("application/json");
const bodyFormats: Readonly<Partial<Record<AdminRoute["method"], BodyFormat>>> = {
  PATCH: jsonBody("application/merge-patch+json", "application/json"),
  POST: json,
  PUT: json,
};

type Parameter = (name: string) => string;

/**
 * **The admin API, and the API of an organisation's own administrators**: the router, the authorization and the validation derive from two tables of
 * the same routes, `/admin/openapi.json` from the first. A request is authorized before its body is read, so that bodies of unauthorized callers are
 * not held, and again when it is complete, so that a token revoked meanwhile changes nothing. The first request below `/admin` or `/organizations`
 * loads this module.
 */
export function adminRoutes(isolate: ManagementIsolate): Router<ManagementEnv> {
  const { reports } = isolate;
  const app = new Router<ManagementEnv>(reports);
  let description: string | undefined;
  const describe = async ({ settings }: RequestContext<ManagementEnv>) => {
    description ??= JSON.stringify(describeApi(adminRouteTable, settings.issuer));
    return new Response(description, { headers: { "Content-Type": "application/json" } });
  };
  serveEndpoint(app, "/admin/openapi.json", { GET: describe }, { cors: "always" });

  const serve = (prefix: string, table: readonly ServedRoute[]) => {
    for (const [path, ofPath] of Map.groupBy(table, (served) => served.path)) {
      const routes = Object.fromEntries(ofPath.map((served) => [served.route.method, served]));
      app.serve(`${prefix}${path.replace(/\{(\w+)\}/g, ":$1")}`, async (request, env, execution, parameters) => {
        const context = createRequestContext(request, env, execution, `${prefix}${path}`, reports);
        const parameter: Parameter = (name) => parameters[name] ?? "";
        return finishResponse(context, await respond(context, isolate, routes, request, parameter));
      });
    }
    app.serve(`${prefix}/*`, async (request, env, execution) => {
      const context = createRequestContext(request, env, execution, `${prefix}/*`, reports);
      const failure = reportFailure(new OAuthError("not_found", "path-unknown"), context);
      return finishResponse(context, renderJson(failure));
    });
  };
  serve(
    "/admin",
    adminRouteTable.map((route) => ({
      ...{ path: route.path, route },
      authorize: async (context, received) => ({
        actor: await authorizeAdmin(context, isolate, received, route.scope),
      }),
    })),
  );
  serve(
    "/organizations",
    delegatedRoutes.map(({ path, route, needed }) => ({
      ...{ path, route },
      authorize: (context, received, parameter) =>
        authorizeDelegate(context, isolate, received, { orgId: parameter("org_id"), needed }),
    })),
  );
  return app;
}

/** An operation at a path, and who may use it. */
interface ServedRoute {
  readonly path: string;
  readonly route: AdminRoute;
  authorize(
    context: RequestContext<ManagementEnv>,
    received: ReceivedRequest,
    parameter: Parameter,
  ): Promise<Pick<AdminCall<unknown, unknown>, "actor" | "delegate">>;
}

async function respond(
  context: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  routes: Readonly<Record<string, ServedRoute>>,
  request: Request,
  parameter: Parameter,
): Promise<EndpointResponse> {
  try {
    return await run(context, isolate, handlerOf(routes, request.method), request, parameter);
  } catch (error) {
    return renderJson(reportFailure(error, context));
  }
}

async function run(
  head: RequestContext<ManagementEnv>,
  isolate: ManagementIsolate,
  { route, authorize }: ServedRoute,
  request: Request,
  parameter: Parameter,
): Promise<EndpointResponse> {
  const format = route.body && bodyFormats[route.method];
  if (format !== undefined) await authorize(head, new ReceivedRequest(request), parameter);
  const received = await receiveRequest(request, format, head);
  const context = format === undefined ? head : arriveNow(head);
  const { body, headers } = await route.run({
    context,
    isolate,
    ...(await authorize(context, received, parameter)),
    parameter,
    ifMatch: received.headers.get("if-match") ?? undefined,
    ifNoneMatch: received.headers.get("if-none-match") ?? undefined,
    json: format && readJson(received),
    search: new URL(received.url).searchParams,
  });
  const { status } = route.response;
  if (status === 204) return new Response(null, { status, headers: noStore });
  return new JsonResponse(body, { status, headers });
}
