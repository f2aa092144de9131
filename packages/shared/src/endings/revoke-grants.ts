import { type GrantRevocation, grantRevocationRequests, type PlacedRequest } from "../grants/grant-revocation.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { RevocationBindings, RevocationView } from "../leases/revocation-view.ts";
import type { RefreshFamilies, RefreshFamilyBindings } from "../refresh/refresh-families.ts";
import { nowMs } from "../runtime/clock.ts";
import { objectName } from "../storage/shard-address.ts";

/** The memory of an isolate that revokes grants. */
export interface Revoking {
  readonly refreshFamilies: Pick<RefreshFamilies, "end">;
  readonly revocation: Pick<RevocationView, "revoke">;
}

/**
 * **Revokes grants as a confirmed write**: resolves when every isolate decides with it. The refresh family of each ends before its rows are written
 * (ADR 16). If a family's shard does not respond, the other grants are revoked, and the failure is thrown. Cost: 1 object call for each grant with
 * refresh tokens, then 1 for each revocation shard; depth 2.
 */
export async function revokeGrants(
  context: RequestContext<RefreshFamilyBindings & RevocationBindings>,
  isolate: Revoking,
  due: readonly GrantRevocation[],
): Promise<void> {
  const ends = await Promise.allSettled(due.map((each) => isolate.refreshFamilies.end(context, each)));
  const ended = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  await revokeAtPlaces(
    context,
    isolate,
    ended.flatMap((each) => grantRevocationRequests(each, nowMs())),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Sends the requests of all places at the same time, one call for each shard; resolves when all are in force. Cost: 1 object call for each shard. */
export async function revokeAtPlaces(
  context: RequestContext<RevocationBindings>,
  { revocation }: Pick<Revoking, "revocation">,
  placed: readonly PlacedRequest[],
): Promise<void> {
  const byShard = Map.groupBy(placed, ({ address }) => objectName("revocation", address));
  await Promise.all(
    [...byShard.values()].map((all) =>
      revocation.revoke(
        context,
        all[0]!.address,
        all.map(({ request }) => request),
      ),
    ),
  );
}
