import type { RequestContext } from "@edge-op/shared/http/request-context";
import { controlPlaneName } from "@edge-op/shared/revocation/control-plane";
import type { CutOffKind } from "@edge-op/shared/revocation/revocation-shard";
import { askObject } from "@edge-op/shared/sharding/ask-object";
import type { AccessToken } from "@edge-op/shared/tokens/access-token";
import type { ManagementEnv } from "../management-env.ts";

/**
 * **Ends every grant of a user or client** created up to now; answers when that is in force on every live shard.
 * Cost: 1 object call.
 */
export async function cutOff(
  call: { readonly context: RequestContext<ManagementEnv>; readonly admin: AccessToken },
  kind: CutOffKind,
  id: string,
): Promise<{ readonly notBeforeMs: number }> {
  const controlPlane = call.context.env.CONTROL_PLANE.getByName(controlPlaneName);
  const operationId = crypto.randomUUID();
  return askObject("control plane", () => controlPlane.cutOff({ kind, id, operationId, actor: call.admin.sub }));
}
