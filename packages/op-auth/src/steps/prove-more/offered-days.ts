import { readDeployment } from "../../deployment.ts";
import { isRecovering } from "../../step/second-factor.ts";
import type { StepRequest } from "../../step/step.ts";

/**
 * **For how many days a person may let this browser skip the second factor**: 0 where it is not offered, and then not accepted either. Who sets a new password
 * has lost a way in, and a client that always asks would ask here again.
 */
export function offeredDays({ context, flow, policy }: Pick<StepRequest, "context" | "flow" | "policy">): number {
  if (isRecovering(flow) || policy.secondFactor === "always") return 0;
  return readDeployment(context.env).secondFactor.rememberDeviceDays;
}
