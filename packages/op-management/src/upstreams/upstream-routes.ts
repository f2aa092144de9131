import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { defineRecordRoutes, type PatchCall } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { requireAuthorityOverUpstream } from "./upstream-authority.ts";
import { requireUpstream } from "./upstream-document.ts";
import { upstreamCreateSchema, upstreamSchema, writableUpstream } from "./upstream-schema.ts";
import { forgetUpstreams, refuseConflicts, type StoredUpstream, upstreams } from "./upstream-table.ts";

/**
 * **`/admin/upstreams`**: the upstream providers with which people sign in (ADR 63). Cost: a read 1 D1; a creation 1 D1, a change 2 D1, 3 for a
 * record that decides about nobody by itself, and a round of the control plane.
 */
export const upstreamRoutes: readonly AdminRoute[] = defineRecordRoutes({
  table: upstreams,
  key: "upstream_id",
  scope: "admin:issuers",
  summaries: {
    create: "Adds an upstream provider: people can sign in with it when the call returns.",
    list: "Lists upstream providers in the order of their ids, a page at a time.",
    read: "Shows an upstream provider, without its secret.",
    update:
      "Changes an upstream provider by JSON Merge Patch: members that are not named are kept, null removes a member. In force everywhere when the call returns. Nobody signs in with a disabled one; open sessions stay.",
    remove:
      "Deletes an upstream provider and its connections with users. Users who can sign in with nothing else cannot sign in any more.",
  },
  writable: writableUpstream,
  createBody: upstreamCreateSchema,
  shown: upstreamSchema,
  show: ({ upstreamId, status, document, secret, createdAtMs, updatedAtMs }) => ({
    upstream_id: upstreamId,
    has_secret: secret !== undefined,
    created_at: toSeconds(createdAtMs),
    updated_at: toSeconds(updatedAtMs),
    ...document,
    status,
  }),
  async create(call) {
    const { upstream_id: upstreamId = `p${randomBase64Url(9)}`, ...given } = call.body;
    const atMs = nowMs();
    const required = await requireUpstream(call.context, upstreamId, given);
    await requireAuthorityOverUpstream(call, [required.document]);
    const record = { upstreamId, ...required, createdAtMs: atMs, updatedAtMs: atMs };
    await upstreams.create(call, record, {
      statements: [refuseConflicts(call.context.env.DB, record)],
      forget: forgetUpstreams,
    });
    return { record };
  },
  patch: patchUpstream,
  async remove(call, { upstreamId, document }) {
    await requireAuthorityOverUpstream(call, [document], upstreamId);
    return {};
  },
});

function patchUpstream(call: PatchCall) {
  const { body, context } = call;
  return async (known: StoredUpstream) => {
    await requireAuthorityOverUpstream(call, [known.document], known.upstreamId);
    // A later rule must not prevent disabling a provider.
    if (Object.keys(body).every((name) => name === "status")) {
      return { changed: { status: body["status"] === "disabled" ? ("disabled" as const) : ("active" as const) } };
    }
    const stored = { ...known.document, status: known.status };
    const { merged, keepOthers } = patchStored(writableUpstream, stored, body);
    const { document, ...others } = await requireUpstream(context, known.upstreamId, merged, known);
    const changed = { ...others, document: keepOthers(document) };
    await requireAuthorityOverUpstream(call, [changed.document]);
    return { changed, statements: [refuseConflicts(context.env.DB, { ...known, ...changed })] };
  };
}
