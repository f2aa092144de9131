import { serveAsset } from "@edge-op/pages/assets";
import { changeLanguage, languagePath } from "@edge-op/pages/language-switch";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type Execution, Router } from "@edge-op/shared/http/router";
import { type EndpointHandler, type Method, serveEndpoint } from "@edge-op/shared/http/serve-endpoint";
import {
  type Callee,
  type CallWorker,
  type ConsoleCall,
  type ConsoleEnv,
  type OwnEnv,
  requestFor,
} from "./api/console-call.ts";
import { auditPages } from "./audit/audit-pages.tsx";
import { brandingPages } from "./branding/branding-page.tsx";
import { clientPages } from "./clients/clients.ts";
import { heldPages } from "./held-records/held-record-pages.tsx";
import { issuerPages } from "./issuers/issuers.tsx";
import { keyPages } from "./keys/key-pages.tsx";
import { memberPages } from "./organizations/member-pages.tsx";
import { organizationPages } from "./organizations/organizations.tsx";
import { overviewRoutes } from "./overview/overview.tsx";
import { refusalPages } from "./refusals/refusal-pages.tsx";
import { resourcePages } from "./resources/resources.ts";
import { rolePages } from "./roles/roles.ts";
import { readConsoleBranding } from "./serve/branding.ts";
import type { ConsoleRoute } from "./serve/route.ts";
import { respondFailure, respondRoute, signOut } from "./serve/serve-console.tsx";
import { callbackPath, completeSignIn } from "./session/sign-in.ts";
import { settingsPages } from "./settings/settings-page.tsx";
import { shardPages } from "./shards/shard-pages.tsx";
import { startPages } from "./start/start-pages.tsx";
import { userPages } from "./users/users.tsx";

/** **Every page and change of the console.** Paths of fixed names come before those with parameters. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...startPages,
  ...clientPages,
  ...userPages,
  ...rolePages,
  ...organizationPages,
  ...memberPages,
  ...resourcePages,
  ...issuerPages,
  ...keyPages,
  ...shardPages,
  ...heldPages,
  ...auditPages,
  ...refusalPages,
  ...settingsPages,
  ...brandingPages,
];

type Call<Env> = (worker: Callee, request: Request, env: Env, execution: Execution) => Response | Promise<Response>;

/**
 * **The operator's console** (ADR 64): pages over the admin API, for who is signed in by this provider with two factors. It has no store. Cost of a
 * page: the requests to the admin API that its route names.
 */
export function createApp() {
  return createAppWith<ConsoleEnv>((worker, request, env) => env[worker].fetch(request));
}

/** Creates the console with another way of calling the Workers (packages/op-compact). */
export function createAppWith<Env extends OwnEnv>(callWorker: Call<Env>) {
  const app = new Router<Env>();
  const serve = (
    path: string,
    handlers: Partial<
      Record<Method, (at: ConsoleCall, parameters: Readonly<Record<string, string>>) => Promise<Response>>
    >,
  ) => {
    const endpoints = Object.entries(handlers).map(([method, handle]): [string, EndpointHandler<Env>] => [
      method,
      (context, request, parameters) => {
        const call: CallWorker = async (worker, url, init) =>
          callWorker(worker, requestFor({ context, request }, url, init), context.env, executionOf(context));
        return handle({ context, request, call }, parameters);
      },
    ]);
    serveEndpoint(app, path, Object.fromEntries(endpoints), {
      renderFailure: (context, request, failure) => respondFailure({ context, request }, failure),
    });
  };

  serve(callbackPath, { GET: completeSignIn });
  serve("/console/sign-out", { POST: (at) => signOut(at) });
  serve("/organization/:org_id/sign-out", { POST: (at, { org_id: orgId }) => signOut(at, orgId) });
  for (const route of consoleRoutes) {
    const respond = (at: ConsoleCall, parameters: Readonly<Record<string, string>>) =>
      respondRoute(at, route, parameters);
    serve(route.path, Object.fromEntries(route.accepts.map((method) => [method, respond])));
  }
  // Only on an origin of its own; on that of the issuer, op-auth serves the same.
  serve(languagePath, { POST: ({ context, request }) => changeLanguage(context, request) });
  serve("/assets/:name", {
    GET: async ({ context, request }, { name = "" }) =>
      serveAsset(readConsoleBranding(context.env), [], name, request.url) ?? notFound(),
  });
  serve("*", { GET: async () => notFound(), POST: async () => notFound() });
  return app;
}

function executionOf({ waitUntil }: RequestContext<unknown>): Execution {
  return { waitUntil, passThroughOnException: () => undefined, props: {} };
}

function notFound(): never {
  throw new OAuthError("not_found", "page-unknown");
}
