/**
 * **`/admin/refusals`**: why requests were refused (ADR 57). Scope `admin:audit`, as for the events of a request. Cost: 1 object call, and 1 D1 for
 * what the clients have registered.
 */

import { readStored } from "@edge-op/protocol/encoding/stored-json";
import { explainReason } from "@edge-op/protocol/oauth/explain-reason";
import type { StoredRefusal } from "@edge-op/shared/audit/audit-log-rpc";
import { type ClientMetadata, isClientMetadata } from "@edge-op/shared/clients/client";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import * as z from "zod";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, invalidCursor, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";

const values = z.array(z.string());

const parameterSchema = z.strictObject({
  name: z.string().describe("A parameter; `token_endpoint_auth_method` is the method of client authentication."),
  sent: values.describe(
    "Its values, shortened to 200 characters. A URI has no user information, query values and fragment.",
  ),
  registered: values
    .optional()
    .describe("The values that the client has registered now; absent if it has registered none."),
});

/** **A refused request**, with what its reason means and what to change. */
const refusalSchema = z
  .strictObject({
    request_id: z.string().describe("The header `Request-Id` of the response."),
    time: z.string().describe("When the request arrived (RFC 3339)."),
    endpoint: z.string().optional().describe("The path as it is routed, or `validateToken`."),
    method: z.string().optional().describe("The HTTP method; `RPC` for a Service Binding."),
    client_id: z.string().optional().describe("The client, as authenticated or as named by the request."),
    is_authenticated: z.boolean().describe("Whether the client has authenticated, or its token was verified."),
    error: z.string().describe("The error code of the response."),
    reason: z.string().describe("The reason: a stable code."),
    explanation: z.string().describe("The meaning of the reason, in Markdown."),
    detail: z.string().describe("Details of the request as they were logged; nothing should match on them."),
    remedy: z.string().describe("How to fix it, in Markdown."),
    documentation: z.string().describe("The page about it, as a path in the repository of Edge OP."),
    parameters: z.array(parameterSchema).describe("The sent parameters that a registration may contradict."),
    omitted_before: z.int().describe("Refusals of the deployment since the one before that were not recorded."),
  })
  .meta({
    id: "Refusal",
    examples: [
      {
        ...{ request_id: "9f2c1b7a6d3e4f50", time: "2026-11-24T16:06:40.000Z", endpoint: "/authorize", method: "GET" },
        ...{ client_id: "photos", is_authenticated: false, error: "invalid_request" },
        reason: "redirect-uri-not-registered",
        ...explainReason("redirect-uri-not-registered"),
        detail: "https://photos.example.com/cb is not among https://photos.example.com/callback",
        parameters: [
          {
            ...{ name: "redirect_uri", sent: ["https://photos.example.com/cb"] },
            registered: ["https://photos.example.com/callback"],
          },
        ],
        omitted_before: 0,
      },
    ],
  });

/** The members of a registration by the parameter that they limit. */
const registeredFor: Readonly<Record<string, (metadata: ClientMetadata) => readonly string[] | undefined>> = {
  redirect_uri: ({ redirect_uris }) => redirect_uris,
  post_logout_redirect_uri: ({ post_logout_redirect_uris }) => post_logout_redirect_uris,
  resource: ({ audiences }) => audiences,
  audience: ({ audiences }) => audiences,
  scope: ({ scope }) => words(scope),
  grant_type: ({ grant_types }) => grant_types,
  response_type: ({ response_types }) => response_types,
  token_endpoint_auth_method: ({ token_endpoint_auth_method }) => [token_endpoint_auth_method],
};

/** `metadata`: the client's present registration, if it exists. */
function showRefusal(refusal: StoredRefusal, metadata: ClientMetadata | undefined): z.input<typeof refusalSchema> {
  const { requestId, atMs, endpoint, method, clientId, isAuthenticated, code, reason, detail, omittedBefore } = refusal;
  return {
    request_id: requestId,
    time: new Date(atMs).toISOString(),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(method === undefined ? {} : { method }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
    is_authenticated: isAuthenticated,
    error: code,
    reason,
    detail,
    ...explainReason(reason),
    parameters: Object.entries(refusal.sent).map(([name, sent]) => {
      const registered = metadata && registeredFor[name]?.(metadata);
      const shown = name === "scope" ? sent.flatMap(words) : [...sent];
      return { name, sent: shown, ...(registered === undefined ? {} : { registered: [...registered] }) };
    }),
    omitted_before: omittedBefore,
  };
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

const id = z.string().min(1).max(256);

const list = defineRoute({
  method: "GET",
  path: "/refusals",
  operationId: "listRefusals",
  summary:
    "Lists recently refused requests, newest first, with the rule, what was sent and what to change. They are kept for a day, and recorded on a best-effort basis, a second to some seconds after the response.",
  scope: "admin:audit",
  query: pageQuery.extend({
    request_id: id.optional().describe("The request with this `Request-Id`."),
    client_id: id.optional().describe("Requests of this client, or that name it."),
  }),
  response: {
    status: 200,
    description: "A page of refusals.",
    schema: z.strictObject({ refusals: z.array(refusalSchema), next_cursor: nextCursor }).meta({ id: "RefusalList" }),
  },
  async handle({ context, query: { limit, cursor, request_id: requestId, client_id: clientId } }) {
    const { env, settings } = context;
    const stub = objectStub(settings, env.CONTROL_PLANE, controlPlaneName);
    const query = { requestId, clientId, before: readBefore(cursor), limit: limit + 1 };
    const rows = await callObject("control plane", async (): Promise<readonly StoredRefusal[]> => stub.refusals(query));
    const { page, next } = cutPage(rows, limit, (row) => String(row.id));
    const registered = await readRegistrations(env.DB, page);
    return {
      body: {
        refusals: page.map((row) => showRefusal(row, registered.get(row.clientId ?? ""))),
        ...next,
      },
    };
  },
});

function readBefore(cursor: string | undefined): number | undefined {
  const text = readCursor(cursor);
  if (text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) throw invalidCursor();
  return Number(text);
}

async function readRegistrations(
  database: D1Database,
  refusals: readonly StoredRefusal[],
): Promise<ReadonlyMap<string, ClientMetadata>> {
  const ids = new Set(refusals.flatMap(({ clientId }) => clientId ?? []));
  if (ids.size === 0) return new Map();
  const select = database
    .prepare("SELECT client_id, metadata FROM clients WHERE client_id IN (SELECT value FROM json_each(?1))")
    .bind(JSON.stringify([...ids]));
  const { results } = await queryDatabase(() => select.all<{ client_id: string; metadata: string }>());
  return new Map(
    results.map(({ client_id, metadata }) => [
      client_id,
      readStored("metadata of a client", metadata, isClientMetadata),
    ]),
  );
}

export const refusalRoutes: readonly AdminRoute[] = [list];
