import { queryDatabase } from "../storage/query-database.ts";
import { deleteConsent, emptyConsent } from "../users/consents.ts";
import { deleteOfflineGrants, listOfflineGrants, type OfflineGrant } from "../users/offline-grants.ts";
import { dismissClients, type EndingContext, type SessionEnder } from "./end-session.ts";
import { revokeGrants } from "./revoke-grants.ts";

/** By the party that ends the access: the reason of the revocations, and the reason that the client's logout tokens are recorded with. */
const endings = {
  consent_withdrawn: "consent taken back",
  administrator: "ended by an administrator",
} as const;

interface Withdrawal {
  readonly sub: string;
  readonly clientId: string;
  readonly by: keyof typeof endings;
}

/**
 * **Ends a client's access to a user, consented or first-party**: empties the consent, removes the client from each session, revokes the offline
 * grants, and deletes the consent last. After a failure in between, it is still listed and can be ended again. `event` is written with the deletion.
 *
 * The order is what ends a request that is under way: it admits its client to the session after its grant is listed. Either the list has the grant, or
 * the session refuses the client. A session that is not listed yet is refused by D1, because the consent is empty; one that begins with a client that
 * needs none begins after the withdrawal.
 *
 * Cost: 4 D1 calls, 1 more for every 200 sessions, 1 object call for each session, and those of end-session.ts and of revoke-grants.ts.
 */
export async function withdrawConsent(
  context: EndingContext,
  isolate: SessionEnder,
  { sub, clientId, by }: Withdrawal,
  event?: D1PreparedStatement,
): Promise<void> {
  const { DB } = context.env;
  await emptyConsent(DB, sub, clientId, context.arrivedAtMs);
  await dismissClients(context, isolate, { sub, clientId }, endings[by]);
  const grants = await listOfflineGrants(DB, sub, clientId);
  await revokeOfflineGrants(context, isolate, by, grants);
  // The event comes first: its condition (`hasAccess`) sees the rows.
  const events = event === undefined ? [] : [event];
  const forgotten = [deleteOfflineGrants(DB, sub, grants), deleteConsent(DB, sub, clientId)];
  await queryDatabase(() => DB.batch([...events, ...forgotten]));
}

/** Cost: that of {@link revokeGrants}. Their rows stay. */
export async function revokeOfflineGrants(
  context: EndingContext,
  isolate: SessionEnder,
  reason: keyof typeof endings,
  grants: readonly OfflineGrant[],
): Promise<void> {
  const due = grants.map(({ clientId, untilMs, family, ...grant }) => ({ grant, clientId, reason, untilMs, family }));
  await revokeGrants(context, isolate, due);
}
