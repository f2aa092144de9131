/** **Requests and responses of `/admin/client-document-hosts`**. */

import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { isDocumentHost, listDocumentHosts, mostDocumentHosts } from "@edge-op/shared/clients/document-policy";
import { documentPolicies, type HostPolicy } from "@edge-op/shared/config/setting-values";
import { invalidFields } from "@edge-op/shared/http/require-valid";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, nextCursor, pageQuery, readCursor } from "../admin/list-page.ts";
import { mayBeConflict } from "../admin/optimistic-concurrency.ts";

const policy = z
  .enum(documentPolicies)
  .describe(
    "`deny`: clients of its documents are refused; `ask`: users are asked at each request; `allow`: their consent is remembered.",
  );

const documentHostBodySchema = z.strictObject({ policy }).meta({ id: "DocumentHostReplacement" });

const documentHostSchema = z
  .strictObject({
    host: z
      .string()
      .describe(
        "A host name, `*.` and a host name for every host below it, or `*` for every host. The most specific one applies.",
      ),
    policy,
  })
  .meta({ id: "DocumentHost", examples: [{ host: "*.example.com", policy: "allow" }] });

const documentHostListSchema = z
  .strictObject({ hosts: z.array(documentHostSchema), next_cursor: nextCursor })
  .meta({ id: "DocumentHostList" });

function requireHost(host: string): string {
  if (isDocumentHost(host)) return host;
  const message =
    "must be a host name in lower case (xn-- for other scripts), an address as in a URL, *. and a host name, or *";
  throw invalidFields([{ path: "host", message }]);
}

const path = "/client-document-hosts";
const named = `${path}/{host}`;
const scope = "admin:clients";
const forget = [{ kind: "document-hosts", id: everyId }] as const;

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listDocumentHosts",
  summary: `Lists the hosts of client metadata documents that have a policy, of which there are ${mostDocumentHosts} at most, a page at a time.`,
  scope,
  query: pageQuery,
  response: {
    status: 200,
    description: "A page of hosts, in the order of their names.",
    schema: documentHostListSchema,
  },
  async handle({ context, query: { cursor, limit } }) {
    const last = readCursor(cursor);
    const rows = (await listAll(context.env.DB)).filter(({ host }) => host > last);
    const { page, next } = cutPage(rows, limit, ({ host }) => host);
    return { body: { hosts: page, ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path: named,
  operationId: "readDocumentHost",
  summary: "Shows the policy for a host of client metadata documents.",
  scope,
  response: { status: 200, description: "The policy.", schema: documentHostSchema },
  handle: async ({ context, parameter }) => ({ body: await requirePolicy(context.env.DB, parameter("host")) }),
});

const replace = defineRoute({
  method: "PUT",
  path: named,
  operationId: "replaceDocumentHost",
  summary:
    "Sets the policy for a host of client metadata documents. In force everywhere when the call returns; existing access tokens remain valid until they expire.",
  scope,
  body: documentHostBodySchema,
  response: { status: 200, description: "The policy.", schema: documentHostSchema },
  async handle(call) {
    const { DB } = call.context.env;
    const host = requireHost(call.parameter("host"));
    const { policy } = call.body;
    const before = (await listAll(DB)).find((each) => each.host === host);
    try {
      await commitChange(call, {
        statements: [storeDocumentHost(DB, { host, policy }, nowMs())],
        forget,
        event: {
          action: "document-host.update",
          target: host,
          detail: { policy, ...(before && { before: before.policy }) },
        },
      });
    } catch (cause) {
      if (mayBeConflict(cause) && before === undefined && (await listAll(DB)).length >= mostDocumentHosts) {
        const description = `There are ${mostDocumentHosts} hosts already.`;
        throw new OAuthError("conflict", "document-hosts-too-many", { description });
      }
      throw cause;
    }
    return { body: { host, policy } };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: named,
  operationId: "deleteDocumentHost",
  summary:
    "Deletes the policy for a host of client metadata documents: a less specific one, or the setting, then applies.",
  scope,
  response: { status: 204, description: "The host has no policy of its own." },
  async handle(call) {
    const { DB } = call.context.env;
    const { host, policy: before } = await requirePolicy(DB, call.parameter("host"));
    await commitChange(call, {
      statements: [DB.prepare("DELETE FROM document_hosts WHERE host = ?1").bind(host)],
      forget,
      event: { action: "document-host.delete", target: host, detail: { before } },
    });
    return { body: undefined };
  },
});

/** Reads the policies from D1: always the authority, never a cache. */
function listAll(database: D1Database): Promise<HostPolicy[]> {
  return queryDatabase(() => listDocumentHosts(database));
}

async function requirePolicy(database: D1Database, host: string): Promise<HostPolicy> {
  const found = (await listAll(database)).find((each) => each.host === host);
  if (found === undefined) throw new OAuthError("not_found", "resource-not-found");
  return found;
}

/** Fails, together with its transaction, if the maximum number of hosts is reached, because a policy may not be NULL. */
function storeDocumentHost(database: D1Database, { host, policy }: HostPolicy, atMs: number): D1PreparedStatement {
  return database
    .prepare(
      `INSERT INTO document_hosts (host, policy, updated_at_ms)
         VALUES (?1, iif((SELECT count(*) FROM document_hosts WHERE host <> ?1) < ?4, ?2, NULL), ?3)
         ON CONFLICT (host) DO UPDATE SET policy = excluded.policy, updated_at_ms = excluded.updated_at_ms`,
    )
    .bind(host, policy, atMs, mostDocumentHosts);
}

/**
 * **`/admin/client-document-hosts`**: the hosts that may publish metadata documents of clients (ADR 47). A policy takes precedence over the settings.
 * A change is in force everywhere when the call returns: clients of a denied host are refused like disabled ones. Cost: a read 1 D1; a change 2 D1
 * and a round of the control plane.
 */
export const documentHostRoutes: readonly AdminRoute[] = [list, read, replace, remove];
