import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { adminScopes } from "@edge-op/protocol/oauth/scope";
import { nowMs } from "@edge-op/shared/runtime/clock";
import { peopleOf } from "@edge-op/shared/storage/people";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import type { UpstreamDocument } from "@edge-op/shared/upstreams/upstream";
import { type ActorRequest, requireAuthority } from "../admin/actor.ts";
import { defineRecordRoutes, type PatchCall } from "../admin/define-record-routes.ts";
import type { AdminRoute } from "../admin/define-route.ts";
import { patchStored } from "../admin/merge-patch.ts";
import { requireUpstream, upstreamCreateSchema, upstreamSchema, writableUpstream } from "./upstream-document.ts";
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

/**
 * **Refuses to write an upstream provider that decides how administrators sign in**, unless the actor has every admin scope that it leads to. A
 * record that binds the people of a domain, believes addresses, or raises the level of a sign-in leads to every administrator, also to those who
 * become one later, so it needs all of them. Any other record leads to those who have connected it. Cost: 1 D1 for a record that exists, none for a
 * new one.
 *
 * @see ../../../../docs/adr/0063-people-sign-in-with-upstream-providers.md
 */
async function requireAuthorityOverUpstream(
  { context, actor }: ActorRequest,
  documents: readonly UpstreamDocument[],
  knownId?: string,
): Promise<void> {
  if (documents.some(decidesSignIn)) return requireAuthority(actor, adminScopes);
  if (knownId === undefined) return;
  const { results } = await queryDatabase(() =>
    peopleOf(context.env.DB).prepare(scopesOfConnected).bind(knownId).all<{ permission: string }>(),
  );
  requireAuthority(
    actor,
    results.map(({ permission }) => permission),
  );
}

function decidesSignIn({ discovery, trusted_domains, acr_map }: UpstreamDocument): boolean {
  return discovery !== "off" || trusted_domains.length > 0 || Object.keys(acr_map).length > 0;
}

/** The admin scopes of people who have connected the provider ?1. Starts with the few who have any. */
const scopesOfConnected = `
  WITH admin (role, permission) AS (SELECT role, permission FROM role_permissions WHERE permission GLOB 'admin:*'),
  holders (sub, permission) AS (
    SELECT u.sub, a.permission FROM user_roles u JOIN admin a ON a.role = u.role
    UNION SELECT u.sub, a.permission FROM user_groups u JOIN group_roles g ON g.group_name = u.group_name JOIN admin a ON a.role = g.role)
  SELECT DISTINCT permission FROM holders
   WHERE EXISTS (SELECT 1 FROM user_identities i WHERE i.sub = holders.sub AND i.upstream_id = ?1)`;
