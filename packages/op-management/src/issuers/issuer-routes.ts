import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { cutPage, readCursor } from "../admin/paging.ts";
import { mayBeConflict } from "../admin/retry-on-conflict.ts";
import { takenError } from "../admin/taken-ids.ts";
import { requireAuthorityOverIssuer, requireIssuerDocument, toResource, toResponse } from "./issuer-document.ts";
import { issuerCreateSchema, issuerListQuery, issuerListSchema, issuerSchema } from "./issuer-schema.ts";
import {
  deleteIssuer,
  findTakenIssuer,
  insertIssuer,
  listIssuers,
  requireIssuer,
  type StoredIssuer,
} from "./issuer-store.ts";
import { testIssuerRoute } from "./test-issuer.ts";
import { applyIssuerPatch, updateIssuerRoute } from "./update-issuer.ts";

/**
 * **`/admin/issuers`**: the issuers whose tokens are accepted, and their rules (ADR 51). Cost: a read 1 D1; a change the control plane's round
 * over the live shards, a deletion two of them.
 */
const path = "/issuers/{issuer_id}";
const scope = "admin:issuers";

const create = defineRoute({
  method: "POST",
  path: "/issuers",
  operationId: "createIssuer",
  summary: "Trusts an issuer. Its tokens give nothing but what a rule says.",
  scope,
  body: issuerCreateSchema,
  response: { status: 201, description: "The issuer.", schema: issuerSchema },
  async handle(call) {
    const { env, settings } = call.context;
    const { issuer_id: chosen, issuer, ...given } = call.body;
    const { status, document } = requireIssuerDocument(issuer, given, settings.issuer);
    requireAuthorityOverIssuer(call.actor, document);
    const issuerId = chosen ?? `i${randomBase64Url(16)}`;
    const atMs = nowMs();
    const created: StoredIssuer = { issuerId, issuer, status, document, createdAtMs: atMs, updatedAtMs: atMs };
    try {
      await commitChange(call, {
        statements: [insertIssuer(env.DB, created)],
        // Isolates may remember that it is not trusted.
        forget: [{ kind: "issuer", id: issuer }],
        event: { action: "issuer.create", target: issuerId },
      });
    } catch (cause) {
      const taken = mayBeConflict(cause) ? await findTakenIssuer(env.DB, created) : undefined;
      if (taken === undefined) throw cause;
      if (taken.issuerId === issuerId) throw takenError("issuer_id");
      throw takenError("issuer", `is recorded as ${taken.issuer}, with the issuer_id ${taken.issuerId}`);
    }
    const { body, headers } = toResponse(created);
    return { body, headers: { ...headers, Location: `${settings.issuer}/admin/issuers/${issuerId}` } };
  },
});

const list = defineRoute({
  method: "GET",
  path: "/issuers",
  operationId: "listIssuers",
  summary: "Lists trusted issuers in the order of their ids, a page at a time.",
  scope,
  query: issuerListQuery,
  response: { status: 200, description: "A page of issuers.", schema: issuerListSchema },
  async handle({ context, query: { cursor, limit } }) {
    const rows = await listIssuers(context.env.DB, readCursor(cursor), limit + 1);
    const { page, next } = cutPage(rows, limit, ({ issuerId }) => issuerId);
    return { body: { issuers: page.map(toResource), ...next } };
  },
});

const read = defineRoute({
  method: "GET",
  path,
  operationId: "readIssuer",
  summary: "Shows a trusted issuer.",
  scope,
  response: { status: 200, description: "The issuer.", schema: issuerSchema },
  async handle({ context, parameter }) {
    return toResponse(await requireIssuer(context.env.DB, parameter("issuer_id")));
  },
});

/** Disabled and cut off before it goes: should that fail half-way, the issuer is still there to be deleted again. */
const remove = defineRoute({
  method: "DELETE",
  path,
  operationId: "deleteIssuer",
  summary: "Deletes an issuer and ends every token that came from it.",
  scope,
  response: { status: 204, description: "The issuer is gone." },
  async handle(call) {
    const { issuer, issuerId } = await applyIssuerPatch({ ...call, body: { status: "disabled" } });
    await commitChange(call, {
      statements: [deleteIssuer(call.context.env.DB, issuerId)],
      forget: [{ kind: "issuer", id: issuer }],
      event: { action: "issuer.delete", target: issuerId },
    });
    return { body: undefined };
  },
});

export const issuerRoutes: readonly AdminRoute[] = [create, list, read, updateIssuerRoute, remove, testIssuerRoute];
