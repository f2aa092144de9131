import { DocumentHosts } from "@edge-op/shared/clients/document-policy";
import { ControlView } from "@edge-op/shared/control/control-view";
import { HeldSchedule } from "@edge-op/shared/keys/held-schedule";
import { RevocationView } from "@edge-op/shared/leases/revocation-view";
import { ShardMap } from "@edge-op/shared/storage/shard-map";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import type { Owner } from "@edge-op/workers/paths";

/** **The state that an isolate of the front door keeps between requests**: the key schedule, the hosts of metadata documents, the control version. */
export interface FrontDoorIsolate {
  readonly schedule: Pick<HeldSchedule, "currentWith">;
  readonly revocation: RevocationView;
  readonly documentHosts: Pick<DocumentHosts, "list" | "isHeld">;
}

export function createIsolate(): FrontDoorIsolate {
  const control = new ControlView();
  return {
    schedule: new HeldSchedule(control),
    revocation: new RevocationView(control, new ShardMap(control)),
    documentHosts: new DocumentHosts(control),
  };
}

/** The Workers behind the front door. */
export type ServiceBindings = Pick<FrontDoorEnv, Owner>;

/** The bindings for the front door's own paths. */
export type OwnPathsEnv = Omit<FrontDoorEnv, Owner>;
