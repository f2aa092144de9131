import { DocumentHosts } from "@edge-op/shared/clients/document-policy";
import { ControlView } from "@edge-op/shared/control/control-view";
import { HeldSchedule } from "@edge-op/shared/keys/held-schedule";
import { RevocationView } from "@edge-op/shared/leases/revocation-view";
import { ShardMap } from "@edge-op/shared/storage/shard-map";

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
