import { RateShield } from "@edge-op/shared/http/rate-limit";
import { ClientKeys } from "@edge-op/shared/jwt/verify-with-client-keys";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import { RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { ShardMap } from "@edge-op/shared/sharding/shard-map";
import { Challenges } from "@edge-op/shared/storage/challenges";
import { ClientDirectory } from "@edge-op/shared/storage/client-directory";
import { ControlView } from "@edge-op/shared/storage/control-view";
import { UserDirectory } from "@edge-op/shared/storage/user-directory";
import { RefreshFamilies } from "@edge-op/shared/tokens/refresh-families";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

/** **What an isolate of op-management keeps between requests**: copies and leases, never an authority. */
export function createIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  return {
    control,
    shardMap,
    clients: new ClientDirectory(control),
    users: new UserDirectory(control),
    keyRing: new KeyRing(control),
    verifiedTokens: new VerifiedTokens(control),
    revocation: new RevocationView(control, shardMap),
    clientKeys: new ClientKeys(),
    challenges: new Challenges(shardMap),
    rateShield: new RateShield(),
    refreshFamilies: new RefreshFamilies(shardMap),
  };
}

export type ManagementIsolate = ReturnType<typeof createIsolate>;
