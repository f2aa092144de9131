import { operationId } from "@edge-op/shared/http/operation-id";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { controlCallMs } from "@edge-op/shared/objects/control-plane";
import type { CutOffKind } from "@edge-op/shared/objects/token-revocation-store";
import { controlPlane } from "@edge-op/shared/revocation/commit-control-change";
import { callObject } from "@edge-op/shared/sharding/call-object";
import type { AccessToken } from "@edge-op/shared/tokens/access-token-content";
import type { ManagementEnv } from "../../management-env.ts";

/**
 * **Ends every grant of a user or client** created up to now; answers when that is in force on every live shard.
 * Cost: 1 object call.
 */
export async function cutOff(
  { context, admin }: { readonly context: RequestContext<ManagementEnv>; readonly admin: AccessToken },
  kind: CutOffKind,
  id: string,
): Promise<{ readonly notBeforeMs: number }> {
  const request = { kind, id, operationId: operationId(context), actor: admin.sub };
  return callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs(context.settings));
}
