import { ControlView } from "@edge-op/shared/cache/control-view";
import { RememberedDecisions } from "@edge-op/shared/cache/remembered-decisions";
import { ClientDirectory } from "@edge-op/shared/directory/client-directory";
import { UserDirectory } from "@edge-op/shared/directory/user-directory";
import { Proofs } from "@edge-op/shared/dpop/require-proof";
import { Challenges } from "@edge-op/shared/grants/challenges";
import { ClientKeys } from "@edge-op/shared/jwt/verify-with-client-keys";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import { RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { ShardMap } from "@edge-op/shared/sharding/shard-map";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

/** **The state that an isolate of op-userinfo keeps between requests**: copies and leases, never an authority. */
export function createIsolate() {
  const control = new ControlView();
  const shardMap = new ShardMap(control);
  return {
    control,
    clients: new ClientDirectory(control),
    users: new UserDirectory(control),
    keyRing: new KeyRing(control),
    verifiedTokens: new VerifiedTokens(control),
    decisions: new RememberedDecisions(control),
    revocation: new RevocationView(control, shardMap),
    challenges: new Challenges(shardMap),
    proofs: new Proofs(),
    clientKeys: new ClientKeys(),
  };
}

export type UserinfoIsolate = ReturnType<typeof createIsolate>;
