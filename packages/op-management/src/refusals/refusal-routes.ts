/**
 * **`/admin/refusals`**: why requests were refused (ADR 57). Scope `admin:audit`, as for the events of a request. Cost: 1 object call, and 1 D1 for
 * what the clients have registered.
 */

import { readStored } from "@edge-op/protocol/encoding/stored-json";
import type { StoredRefusal } from "@edge-op/shared/audit/audit-log-rpc";
import { type ClientMetadata, isClientMetadata } from "@edge-op/shared/clients/client";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import * as z from "zod";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, invalidCursor, nextCursor, pageQuery, readCursor } from "../admin/paging.ts";
import { refusalSchema, showRefusal } from "./refusal-resource.ts";

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
