import { ControlView } from "@edge-op/shared/cache/control-view";
import { DocumentHosts } from "@edge-op/shared/directory/document-hosts";
import { HeldSchedule } from "@edge-op/shared/keys/held-schedule";
import { RevocationView } from "@edge-op/shared/revocation/revocation-view";
import { ShardMap } from "@edge-op/shared/sharding/shard-map";

/** **The state that an isolate of the front door keeps between requests**: the key schedule, the hosts of metadata documents, the control version. */
export interface FrontDoorIsolate {
  readonly schedule: Pick<HeldSchedule, "currentWith">;
  readonly revocation: RevocationView;
  readonly documentHosts: Pick<DocumentHosts, "admitsAny" | "isHeld">;
}

export function createIsolate(): FrontDoorIsolate {
  const control = new ControlView();
  return {
    schedule: new HeldSchedule(control),
    revocation: new RevocationView(control, new ShardMap(control)),
    documentHosts: new DocumentHosts(control),
  };
}
