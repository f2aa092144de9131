import { RequestReports } from "@edge-op/shared/audit/request-reports";
import { DpopProofs } from "@edge-op/shared/callers/read-proof";
import { ClientDirectory } from "@edge-op/shared/clients/client-directory";
import { ClientKeys } from "@edge-op/shared/clients/client-keys";
import { ControlView } from "@edge-op/shared/control/control-view";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import { RevocationView } from "@edge-op/shared/leases/revocation-view";
import { Challenges } from "@edge-op/shared/storage/challenges";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";
import { UserDirectory } from "@edge-op/shared/users/user-directory";

/** **The state that an isolate of op-userinfo keeps between requests**: copies and leases, never an authority. */
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
    decisions: new RememberedDecisions(control),
    revocation: new RevocationView(control, shardMap),
    challenges: new Challenges(shardMap),
    dpopProofs: new DpopProofs(),
    clientKeys: new ClientKeys(),
    reports: new RequestReports(),
  };
}

export type UserinfoIsolate = ReturnType<typeof createIsolate>;
