import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { listDocumentHosts, mostDocumentHosts } from "@edge-op/shared/clients/document-hosts";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { everyId } from "@edge-op/shared/storage/record-kinds";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { mayBeConflict } from "../admin/retry-on-conflict.ts";
import {
  documentHostBodySchema,
  documentHostListSchema,
  documentHostSchema,
  requireHost,
} from "./document-host-schema.ts";
import {
  countDocumentHosts,
  deleteDocumentHost,
  findDocumentHost,
  requireDocumentHost,
  storeDocumentHost,
} from "./document-host-store.ts";

/**
 * **`/admin/client-document-hosts`**: which hosts may publish metadata documents of clients (ADR 47), before what the settings say. In force everywhere when a call
 * returns: clients of a denied host are refused, as disabled ones. Cost: a read 1 D1; a change 2 D1 and a round of the control plane.
 */
const path = "/client-document-hosts";
const named = `${path}/{host}`;
const scope = "admin:clients";
const forget = [{ kind: "document-hosts", id: everyId }] as const;

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listDocumentHosts",
  summary: `Lists the hosts of client metadata documents that have a policy, ${mostDocumentHosts} at most.`,
  scope,
  response: { status: 200, description: "The hosts, in the order of their names.", schema: documentHostListSchema },
  async handle({ context }) {
    return { body: { hosts: await queryDatabase(() => listDocumentHosts(context.env.DB)) } };
  },
});

const read = defineRoute({
  method: "GET",
  path: named,
  operationId: "readDocumentHost",
  summary: "Shows the policy for a host of client metadata documents.",
  scope,
  response: { status: 200, description: "The policy.", schema: documentHostSchema },
  handle: async ({ context, parameter }) => ({ body: await requireDocumentHost(context.env.DB, parameter("host")) }),
});

const replace = defineRoute({
  method: "PUT",
  path: named,
  operationId: "replaceDocumentHost",
  summary:
    "Sets the policy for a host of client metadata documents. In force everywhere when the call returns; access tokens that exist stay valid until they expire.",
  scope,
  body: documentHostBodySchema,
  response: { status: 200, description: "The policy.", schema: documentHostSchema },
  async handle(call) {
    const { DB } = call.context.env;
    const host = requireHost(call.parameter("host"));
    const { policy } = call.body;
    const before = await findDocumentHost(DB, host);
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
      if (mayBeConflict(cause) && before === undefined && (await countDocumentHosts(DB)) >= mostDocumentHosts) {
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
  summary: "Deletes the policy for a host of client metadata documents: a less precise one, or the setting, counts.",
  scope,
  response: { status: 204, description: "The host has no policy of its own." },
  async handle(call) {
    const { DB } = call.context.env;
    const { host, policy: before } = await requireDocumentHost(DB, call.parameter("host"));
    await commitChange(call, {
      statements: [deleteDocumentHost(DB, host)],
      forget,
      event: { action: "document-host.delete", target: host, detail: { before } },
    });
    return { body: undefined };
  },
});

export const documentHostRoutes: readonly AdminRoute[] = [list, read, replace, remove];
