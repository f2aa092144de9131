import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { reportFailure } from "@edge-op/shared/http/failure";
import { finishResponse } from "@edge-op/shared/http/finish-response";
import { type EndpointResponse, JsonResponse, noStore } from "@edge-op/shared/http/json-response";
import { readJson } from "@edge-op/shared/http/read-form";
import { jsonBody, ReceivedRequest, receiveRequest } from "@edge-op/shared/http/received-request";
import { arriveNow, createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { Router } from "@edge-op/shared/http/router";
import { handlerOf } from "@edge-op/shared/http/serve-endpoint";
import type { ManagementEnv } from "@edge-op/workers/env";
import type { ManagementIsolate } from "../isolate.ts";
import { DirectoryStore } from "./directory-store.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./discovery.ts";
import { createGroup, deleteGroup, listGroups, patchGroup, readGroup, replaceGroup } from "./groups.ts";
import { listResponse, type Resource, type ScimCall } from "./resources.ts";
import { errorBody, resourceMissing, ScimError, tokenRefused } from "./scim-error.ts";
import { findToken } from "./token-store.ts";
import { createUser, deleteUser, listUsers, patchUser, readUser, replaceUser } from "./users.ts";

const mediaType = { "Content-Type": "application/scim+json" } as const;
const body = { ...jsonBody("application/scim+json", "application/json"), maxBytes: 262_144 };

type Outcome = EndpointResponse | Promise<EndpointResponse>;
type Handler = (call: ScimCall, id: string, sent: JsonObject) => Outcome;

function respond(resource: object, status: 200 | 201 = 200): JsonResponse {
  const { version, location } = "meta" in resource ? (resource.meta as Partial<Record<string, string>>) : {};
  const headers = {
    ...mediaType,
    ...(version !== undefined && { ETag: version }),
    ...(status === 201 && location !== undefined && { Location: location }),
  };
  return new JsonResponse(resource, { status, headers });
}

const noContent = () => new Response(null, { status: 204, headers: noStore });

interface Kind {
  list(call: ScimCall): Promise<object>;
  create(call: ScimCall, sent: JsonObject): Promise<Resource>;
  read(call: ScimCall, id: string): Promise<Resource>;
  replace(call: ScimCall, id: string, sent: JsonObject): Promise<Resource>;
  patch(call: ScimCall, id: string, sent: JsonObject): Promise<Resource>;
  remove(call: ScimCall, id: string): Promise<void>;
}

function routesOf(path: string, { list, create, read, replace, patch, remove }: Kind) {
  const whole: Readonly<Record<string, Handler>> = {
    GET: async (call) => respond(await list(call)),
    POST: async (call, _id, sent) => respond(await create(call, sent), 201),
  };
  const one: Readonly<Record<string, Handler>> = {
    GET: async (call, id) => respond(await read(call, id)),
    PUT: async (call, id, sent) => respond(await replace(call, id, sent)),
    PATCH: async (call, id, sent) => respond(await patch(call, id, sent)),
    DELETE: async (call, id) => remove(call, id).then(noContent),
  };
  return [
    [path, whole],
    [`${path}/:id`, one],
  ] as const;
}

/** Every path that needs a token. */
export const scimRouteTable: readonly (readonly [path: string, handlers: Readonly<Record<string, Handler>>])[] = [
  ...routesOf("/Users", {
    ...{ list: listUsers, create: createUser, read: readUser },
    ...{ replace: replaceUser, patch: patchUser, remove: deleteUser },
  }),
  ...routesOf("/Groups", {
    ...{ list: listGroups, create: createGroup, read: readGroup },
    ...{ replace: replaceGroup, patch: patchGroup, remove: deleteGroup },
  }),
];

const root = "/scim/:org_id/v2";

/**
 * **SCIM 2.0 for the directory of one organisation** (RFC 7644; ADR 72). A request is authorized before its body is read, so that bodies of
 * unauthorized callers are not held, and again when it is complete, so that a token deleted meanwhile changes nothing. The first request below
 * `/scim` loads this module. Cost in D1 calls: a token 1, with a body 2; a read 2, a list 3; a change 2 to 7, and a round of the control plane if it
 * ends or restores what a person has.
 */
export function scimRoutes({ reports }: ManagementIsolate): Router<ManagementEnv> {
  const app = new Router<ManagementEnv>(reports);
  const serve = (
    path: string,
    handle: (
      context: RequestContext<ManagementEnv>,
      request: Request,
      parameters: Readonly<Record<string, string>>,
    ) => Outcome,
  ) => {
    app.serve(path, async (request, env, execution, parameters) => {
      const context = createRequestContext(request, env, execution, path, reports);
      return finishResponse(context, await settled(context, () => handle(context, request, parameters)));
    });
  };
  const discovery: Readonly<Record<string, (base: string) => object>> = {
    ServiceProviderConfig: serviceProviderConfig,
    ResourceTypes: (base) => listResponse(resourceTypes(base) as unknown as Resource[], 2, { offset: 0 }),
    Schemas: (base) => listResponse(schemas(base), 3, { offset: 0 }),
  };
  for (const [name, describe] of Object.entries(discovery)) {
    serve(`${root}/${name}`, (context, request, { org_id: orgId = "" }) => {
      handlerOf({ GET: describe }, request.method);
      return respond(describe(baseOf(context, orgId)));
    });
  }
  for (const [name, all] of [
    ["ResourceTypes", resourceTypes],
    ["Schemas", schemas],
  ] as const) {
    serve(`${root}/${name}/:id`, (context, request, { org_id: orgId = "", id }) => {
      handlerOf({ GET: all }, request.method);
      const found = all(baseOf(context, orgId)).find((each) => each.id === id);
      if (found === undefined) throw resourceMissing();
      return respond(found);
    });
  }
  for (const [path, handlers] of scimRouteTable) {
    serve(`${root}${path}`, (context, request, parameters) => run(context, handlers, request, parameters));
  }
  // RFC 7644 §3.4.3: a search of every kind of resource at once.
  serve(`${root}/.search`, () => {
    throw new ScimError(501, "A search is a GET of one kind of resource.");
  });
  serve("/scim/*", () => {
    throw resourceMissing();
  });
  return app;
}

function baseOf({ settings }: RequestContext<ManagementEnv>, orgId: string): string {
  return `${settings.issuer}/scim/${encodeURIComponent(orgId)}/v2`;
}

async function run(
  head: RequestContext<ManagementEnv>,
  handlers: Readonly<Record<string, Handler>>,
  request: Request,
  { org_id: orgId = "", id = "" }: Readonly<Record<string, string>>,
): Promise<EndpointResponse> {
  const handler = handlerOf(handlers, request.method);
  const hasBody = request.method === "POST" || request.method === "PUT" || request.method === "PATCH";
  const first = await authorize(head, orgId, request.headers);
  const received = hasBody ? await receiveRequest(request, body, head) : new ReceivedRequest(request);
  const context = hasBody ? arriveNow(head) : head;
  const tokenId = hasBody ? await authorize(context, orgId, received.headers) : first;
  const sent = hasBody ? readJson(received) : {};
  if (!isJsonObject(sent)) throw new ScimError(400, "The body is no object.", "invalidSyntax");
  const call: ScimCall = {
    context,
    request: received,
    actor: { clientId: "", sub: `scim.${tokenId}`, scope: [] },
    store: new DirectoryStore(context.env.DB, orgId),
    search: new URL(request.url).searchParams,
    base: baseOf(context, orgId),
  };
  return handler(call, id, sent);
}

/** S1: the token of this organisation; its id. */
async function authorize(
  { env, arrivedAtMs }: RequestContext<ManagementEnv>,
  orgId: string,
  headers: Headers,
): Promise<string> {
  const [, text = ""] = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  const tokenId = await findToken(env, orgId, text, arrivedAtMs);
  if (tokenId === undefined) throw tokenRefused();
  return tokenId;
}

async function settled(context: RequestContext<ManagementEnv>, handle: () => Outcome): Promise<EndpointResponse> {
  try {
    return await handle();
  } catch (error) {
    const { status, description, headers, code } = reportFailure(error, context);
    const isSyntax = error instanceof OAuthError && code === "invalid_request";
    const scimType = error instanceof ScimError ? error.scimType : isSyntax ? "invalidSyntax" : undefined;
    return new JsonResponse(errorBody(status, description, scimType), {
      status,
      headers: { ...headers, ...mediaType },
    });
  }
}
