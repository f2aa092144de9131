/** **`/admin/users/{sub}/sessions`, `/consents` and `/grants`**: where a user is signed in, and which applications may act for them. */

import { toSeconds } from "@edge-op/protocol/encoding/seconds";
import { endSessions, revokeOfflineGrants, withdrawConsent } from "@edge-op/shared/endings/endings";
import { deleteUserSessions, findUserSession, pageUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { queryDatabase } from "@edge-op/shared/storage/query-database";
import { formatTokenId, parseTokenId } from "@edge-op/shared/storage/shard-address";
import { findAccess, pageConsents } from "@edge-op/shared/users/consents";
import {
  deleteOfflineGrants,
  findOfflineGrant,
  type OfflineGrant,
  pageOfflineGrants,
} from "@edge-op/shared/users/offline-grants";
import * as z from "zod";
import type { AdminRoute } from "../admin/define-route.ts";
import { defineAccessRoutes } from "./define-access-routes.ts";

const seconds = z.int().describe("Seconds since the epoch.");

const sessionSchema = z
  .strictObject({
    sid: z.string().describe("Its public name: the `sid` of ID tokens and logout tokens, but for pairwise clients."),
    device: z.string().describe("As the browser says: `Firefox on Windows`."),
    city: z.string().exactOptional().describe("As the platform estimates it."),
    country: z.string().exactOptional().describe("ISO 3166-1 alpha-2."),
    signed_in_at: seconds,
    ends_at: z.int().describe("Seconds since the epoch. It ends earlier if it is not used."),
  })
  .meta({
    id: "Session",
    examples: [
      {
        ...{ sid: "g1.wnam.3.Zk1tVn0uGq8Yk3Jx", device: "Firefox on Windows", city: "Oslo", country: "NO" },
        ...{ signed_in_at: 1795000000, ends_at: 1795086400 },
      },
    ],
  });

/** Cost of an end: for each session those of endings.ts, and 1 D1 call. */
const sessionRoutes = defineAccessRoutes({
  noun: "session",
  key: "sid",
  missing: "session-not-found",
  words: {
    list: "Lists the browsers in which a user is signed in.",
    ends: "The grants of its applications end with it, and applications with back-channel logout are notified; offline access stays.",
  },
  shown: sessionSchema,
  atOnce: 200,
  page: pageUserSessions,
  find: findUserSession,
  idOf: ({ sid }) => sid,
  show: ({ device, signedInAtMs, endsAtMs, ...named }) => ({
    ...{ ...named, device },
    signed_in_at: toSeconds(signedInAtMs),
    ends_at: toSeconds(endsAtMs),
  }),
  async end({ context, isolate }, sub, sessions) {
    const sids = sessions.map(({ sid }) => sid);
    await endSessions(context, isolate, sids, "ended by an administrator");
    // An object does not know a session that has expired or that is being opened; it refuses to open it from now on.
    await deleteUserSessions(context.env.DB, sub, sids);
  },
});

const consentSchema = z
  .strictObject({
    client_id: z.string(),
    allowed: z
      .array(z.string())
      .describe(
        "Scope values, resources, `claim:<name>`, and `detail:<hash> <type>`. `offline_access` alone, without times: the client needs no consent.",
      ),
    given_at: seconds.exactOptional(),
    updated_at: seconds.exactOptional(),
  })
  .meta({
    id: "Consent",
    examples: [{ client_id: "photos", allowed: ["openid", "email"], given_at: 1795000000, updated_at: 1795000000 }],
  });

/** Cost of an end: for each consent those of endings.ts. */
const consentRoutes = defineAccessRoutes({
  noun: "consent",
  key: "client_id",
  missing: "consent-not-found",
  words: {
    list: "Lists what a user has allowed applications, and applications with offline access that need no consent.",
    ends: "The application's grants end, also in sessions; it is notified by back-channel logout, and must ask again.",
  },
  shown: consentSchema,
  atOnce: 20,
  page: pageConsents,
  find: findAccess,
  idOf: ({ clientId }) => clientId,
  show: ({ clientId, allowed, givenAtMs, updatedAtMs }) => ({
    ...{ client_id: clientId, allowed: [...allowed] },
    ...(givenAtMs === undefined ? {} : { given_at: toSeconds(givenAtMs) }),
    ...(updatedAtMs === undefined ? {} : { updated_at: toSeconds(updatedAtMs) }),
  }),
  async end({ context, isolate }, sub, consents) {
    for (const { clientId } of consents) {
      await withdrawConsent(context, isolate, { sub, clientId, by: "administrator" });
    }
  },
});

const grantSchema = z
  .strictObject({
    grant_id: z.string().describe("As `POST /revocations` accepts it."),
    client_id: z.string(),
    ends_at: z.int().describe("Seconds since the epoch: no token of the grant is alive then."),
  })
  .meta({
    id: "Grant",
    examples: [{ grant_id: "g1:wnam:3:6q0mXbN4hT1yRw2cVd8L5A.1z.1z", client_id: "photos", ends_at: 1797592000 }],
  });

/** The grant's id with its shard, as in a `jti`. */
function nameOf({ grantId, address }: OfflineGrant): string {
  return formatTokenId({ grantId, address, random: "" }).slice(0, -1);
}

/** Cost of an end: that of endings.ts, and 1 D1 call. */
const grantRoutes = defineAccessRoutes({
  noun: "grant",
  key: "grant_id",
  missing: "grant-not-found",
  words: {
    list: "Lists the grants of a user with offline access. Other grants belong to a session, and end with it.",
    ends: "Its refresh token and all of its access tokens are refused; the consent stays.",
  },
  shown: grantSchema,
  atOnce: 200,
  async page(database, sub, { after, ...page }) {
    const [clientId = "", grantId = ""] = after.split("\n");
    return pageOfflineGrants(database, sub, { ...page, after: { clientId, grantId } });
  },
  async find(database, sub, name, atMs) {
    const id = parseTokenId(`${name}.any`);
    return id && findOfflineGrant(database, sub, id.grantId, atMs);
  },
  idOf: nameOf,
  placeOf: ({ clientId, grantId }) => `${clientId}\n${grantId}`,
  show: (grant) => ({ grant_id: nameOf(grant), client_id: grant.clientId, ends_at: toSeconds(grant.untilMs) }),
  async end({ context, isolate }, sub, grants) {
    const { DB } = context.env;
    await revokeOfflineGrants(context, isolate, "administrator", grants);
    await queryDatabase(() => deleteOfflineGrants(DB, sub, grants).run());
  },
});

export const accessRoutes: readonly AdminRoute[] = [...sessionRoutes, ...consentRoutes, ...grantRoutes];
