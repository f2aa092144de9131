import type { RequestContext } from "../http/request-context.ts";
import { type GrantRevocation, grantRevocationRequest } from "../leases/grant-revocation.ts";
import type { RevocationBindings, RevocationView } from "../leases/revocation-view.ts";
import { objectName } from "../storage/shard-address.ts";
import type { RefreshFamilies, RefreshFamilyBindings } from "./refresh-families.ts";

/** The memory of an isolate that revokes grants. */
export interface Revoking {
  readonly refreshFamilies: Pick<RefreshFamilies, "end">;
  readonly revocation: Pick<RevocationView, "revoke">;
}

/**
 * **Revokes grants as a confirmed write**: resolves when every isolate decides with it. The refresh families of a shard's grants end before its rows
 * are written (ADR 16); the shards are called in parallel. Cost: 1 object call for each grant with refresh tokens, then 1 for each revocation shard;
 * depth 2.
 */
export async function revokeGrants(
  context: RequestContext<RefreshFamilyBindings & RevocationBindings>,
  { refreshFamilies, revocation }: Revoking,
  due: readonly GrantRevocation[],
): Promise<void> {
  const byShard = Map.groupBy(due, ({ grant }) => objectName("revocation", grant.address));
  await Promise.all(
    [...byShard.values()].map(async (all) => {
      const ended = await Promise.all(all.map((each) => refreshFamilies.end(context, each)));
      await revocation.revoke(context, all[0]!.grant.address, ended.map(grantRevocationRequest));
    }),
  );
}
