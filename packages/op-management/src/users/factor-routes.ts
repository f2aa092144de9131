import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { factorKinds, listFactors, removeFactor } from "@edge-op/shared/users/factors";
import * as z from "zod";
import { commitChange } from "../admin/commit-change.ts";
import { type AdminRoute, defineRoute } from "../admin/define-route.ts";
import { forgetAccess } from "./patch-user.ts";
import { requireOtherUser, users } from "./user-table.ts";

const path = "/users/{sub}/factors";
const scope = "admin:users";

const factorSchema = z
  .strictObject({
    factor_id: z.string(),
    kind: z.enum(factorKinds).describe("`totp`: an authenticator app."),
    name: z.string().exactOptional().describe("Of a passkey."),
    remaining: z.int().exactOptional().describe("Unused recovery codes."),
    created_at: z.int().describe("Seconds since the epoch."),
    last_used_at: z.int().exactOptional().describe("Seconds since the epoch; absent: not used yet."),
  })
  .meta({ id: "Factor" });

const example = {
  factors: [
    { factor_id: "Jm3o0pQm7xYf2bJ0gkYV9A", kind: "totp", created_at: 1795000000, last_used_at: 1795080000 },
    { factor_id: "c2V0LW9mLWNvZGVzLi4uLg", kind: "recovery_codes", remaining: 7, created_at: 1795000060 },
    { factor_id: "mWq8Qm0yX3w", kind: "passkey", name: "Firefox · Windows", created_at: 1795000120 },
  ],
};

const list = defineRoute({
  method: "GET",
  path,
  operationId: "listFactors",
  summary: "Lists the authenticator apps, recovery codes and passkeys of a user, without secrets.",
  scope,
  response: {
    status: 200,
    description: "The factors.",
    schema: z.strictObject({ factors: z.array(factorSchema) }).meta({ id: "FactorList", examples: [example] }),
  },
  async handle({ context, parameter }) {
    const { sub } = await users.require(context.env.DB, parameter("sub"));
    const factors = await listFactors(context.env.DB, sub);
    return {
      body: {
        factors: factors.map(({ id, kind, name, remaining, createdAtMs, lastUsedAtMs }) => ({
          ...{ factor_id: id, kind },
          ...(name === undefined ? {} : { name }),
          ...(remaining === undefined ? {} : { remaining }),
          created_at: toSeconds(createdAtMs),
          ...(lastUsedAtMs === undefined ? {} : { last_used_at: toSeconds(lastUsedAtMs) }),
        })),
      },
    };
  },
});

const remove = defineRoute({
  method: "DELETE",
  path: `${path}/{factor_id}`,
  operationId: "removeFactor",
  summary:
    "Removes a factor of a user who has lost it, and ends every session and grant of the user. In force everywhere when the call returns.",
  scope,
  response: { status: 204, description: "The factor is removed." },
  async handle(call) {
    const database = call.context.env.DB;
    const { sub, claims } = await requireOtherUser(call);
    const id = call.parameter("factor_id");
    const factor = (await listFactors(database, sub)).find((each) => each.id === id);
    if (factor === undefined) throw new OAuthError("not_found", "factor-not-found");
    await commitChange(call, {
      statements: [...removeFactor(database, sub, factor), ...forgetAccess(database, sub)],
      forget: [{ kind: "user", id: sub }],
      event: { action: "user.factor_remove", target: sub, detail: { kind: factor.kind, factor_id: id } },
      cutOff: { kind: "sub", id: sub },
      notice: { sub, claims, kind: "factor-removed-by-administrator" },
    });
    return { body: undefined };
  },
});

/** **`/admin/users/{sub}/factors`**. Cost: a list 2 D1 calls; a removal 4 and the control plane's round. */
export const factorRoutes: readonly AdminRoute[] = [list, remove];
