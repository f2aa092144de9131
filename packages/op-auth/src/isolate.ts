import { RateShield } from "@edge-op/shared/http/rate-limit";
import { ClientKeys } from "@edge-op/shared/jwt/verify-with-client-keys";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import { RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { ShardMap } from "@edge-op/shared/sharding/shard-map";
import { AuthorizationCodes } from "@edge-op/shared/storage/authorization-codes";
import { Challenges } from "@edge-op/shared/storage/challenges";
import { ClientDirectory } from "@edge-op/shared/storage/client-directory";
import { ControlView } from "@edge-op/shared/storage/control-view";
import { Sessions } from "@edge-op/shared/storage/sessions";
import { UserDirectory } from "@edge-op/shared/storage/user-directory";

/** **What an isolate of op-auth keeps between requests**: copies and leases, never an authority. */
export function createIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  return {
    control,
    shardMap,
    clients: new ClientDirectory(control),
    users: new UserDirectory(control),
    keyRing: new KeyRing(control),
    revocation: new RevocationView(control, shardMap),
    clientKeys: new ClientKeys(),
    challenges: new Challenges(shardMap),
    rateShield: new RateShield(),
    codes: new AuthorizationCodes(shardMap),
    sessions: new Sessions(shardMap),
  };
}

export type AuthIsolate = ReturnType<typeof createIsolate>;
