import { controlPlane } from "@edge-op/shared/control/commit-control-change";
import { controlCallMs } from "@edge-op/shared/control/control-plane-rpc";
import type { CutOffKind } from "@edge-op/shared/cut-offs/cut-offs";
import { operationId } from "@edge-op/shared/http/request-context";
import { callObject } from "@edge-op/shared/storage/call-object";
import type { ActorRequest } from "../admin/actor.ts";

/** **Revokes every grant of a user or client** created up to now; resolves when the cut-off is in force everywhere. Cost: 1 object call. */
export async function cutOff({ context, actor }: ActorRequest, kind: CutOffKind, id: string): Promise<void> {
  const request = { kind, id, operationId: operationId(context), actor: actor.sub };
  await callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs);
}
