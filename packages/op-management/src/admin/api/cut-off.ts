import type { ActorRequest } from "@edge-op/shared/administration/actor";
import { operationId } from "@edge-op/shared/http/operation-id";
import { controlCallMs } from "@edge-op/shared/objects/control-plane";
import type { CutOffKind } from "@edge-op/shared/objects/token-revocation-store";
import { controlPlane } from "@edge-op/shared/revocation/commit-control-change";
import { callObject } from "@edge-op/shared/sharding/call-object";

/**
 * **Revokes every grant of a user or client** created up to now; resolves when that is in force on every live shard. Cost: 1 object
 * call.
 */
export async function cutOff({ context, actor }: ActorRequest, kind: CutOffKind, id: string): Promise<void> {
  const request = { kind, id, operationId: operationId(context), actor: actor.sub };
  await callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs(context.settings));
}
