import type { User } from "@edge-op/shared/users/user";
import { findSignedInUser } from "../../browser/find-signed-in-user.ts";
import { findByAddress } from "../recover/find-by-address.ts";
import { recoveryFactor, recoveryProof } from "../recovery.ts";
import type { StepRequest } from "../step.ts";

/**
 * **The person who may set a new password**: by the proof of a mailbox that is still theirs, with the second factor that their account asks for, and without
 * any change since that ends what rests on it (ADR 28). The page of this step can be opened with the flow of any other one, so nothing of this is known
 * from being here. Cost: 1 D1 call.
 */
export async function findRecovering({ context, isolate, flow }: StepRequest): Promise<User | undefined> {
  const mailed = recoveryProof(flow);
  if (mailed?.credential === undefined) return undefined;
  const { sub, credential, controlVersion } = mailed;
  const [user, account] = await Promise.all([
    findSignedInUser(context, isolate, controlVersion, { sub, sid: flow.fid }),
    findByAddress(context.env.DB, credential),
  ]);
  if (user === undefined || account?.sub !== sub) return undefined;
  return recoveryFactor(flow, account.factors) === "none" ? user : undefined;
}
