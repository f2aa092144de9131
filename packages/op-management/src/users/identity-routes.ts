import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { type Identity, listIdentities, removeIdentity } from "@edge-op/shared/users/identities";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { forgetAccess } from "./patch-user.ts";
import { requireOtherUser, users } from "./user-table.ts";

const path = "/users/{sub}/identities";
const scope = "admin:users";

const identitySchema = z
  .strictObject({
    identity_id: z.string(),
    upstream_id: z.string(),
    issuer: z.string().describe("The issuer of the upstream provider."),
    subject: z.string().describe("The person's `sub` there."),
    label: z.string().describe("The label that the person sees: an address or a name there."),
    created_at: z.int().describe("Seconds since the epoch."),
    last_used_at: z.int().exactOptional().describe("Seconds since the epoch; absent: not used yet."),
  })
  .meta({
    id: "Identity",
    examples: [
      {
        ...{ identity_id: "dGhlIGlkZW50aXR5IGlkLg", upstream_id: "corp", issuer: "https://idp.example.net" },
        ...{ subject: "248289761001", label: "ann@example.net", created_at: 1795000000, last_used_at: 1795080000 },
      },
    ],
  });

function show({ id, upstreamId, issuer, subject, label, createdAtMs, lastUsedAtMs }: Identity) {
  return {
    ...{ identity_id: id, upstream_id: upstreamId, issuer, subject, label, created_at: toSeconds(createdAtMs) },
    ...(lastUsedAtMs === undefined ? {} : { last_used_at: toSeconds(lastUsedAtMs) }),
  };
}

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listIdentities",
  summary: "Lists the upstream providers that a user is connected with.",
  scope,
  response: {
    status: 200,
    description: "The identities.",
    schema: z.strictObject({ identities: z.array(identitySchema) }).meta({ id: "IdentityList" }),
  },
  async handle({ context, parameter }) {
    const { sub } = await users.require(context.env.DB, parameter("sub"));
    return { body: { identities: (await listIdentities(context.env.DB, sub)).map(show) } };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{identity_id}`,
  operationId: "removeIdentity",
  summary:
    "Disconnects a user from an upstream provider, and ends every session and grant of the user. In force everywhere when the call returns. It may be the last way in.",
  scope,
  response: { status: 204, description: "The identity is removed." },
  async handle(call) {
    const database = call.context.env.DB;
    const { sub, claims } = await requireOtherUser(call);
    const id = call.parameter("identity_id");
    const identity = (await listIdentities(database, sub)).find((each) => each.id === id);
    if (identity === undefined) throw new OAuthError("not_found", "identity-not-found");
    const { upstreamId } = identity;
    await commitChange(call, {
      statements: [...removeIdentity(database, sub, identity), ...forgetAccess(database, sub)],
      forget: [{ kind: "user", id: sub }],
      event: { action: "user.identity_remove", target: sub, detail: { upstream_id: upstreamId, identity_id: id } },
      cutOff: { kind: "sub", id: sub },
      notice: { sub, claims, kind: "identity-unlinked" },
    });
    return { body: undefined };
  },
});

/** **`/admin/users/{sub}/identities`**. Cost: a list 2 D1 calls; a removal 4 and the control plane's round. */
export const identityRoutes: readonly AdminRoute[] = [list, remove];
