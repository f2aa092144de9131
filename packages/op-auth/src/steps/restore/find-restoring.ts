import { findFactors } from "@edge-op/shared/users/factors";
import type { User } from "@edge-op/shared/users/user";
import { findSignedInUser } from "../../browser/find-signed-in-user.ts";
import { isRememberedDevice } from "../../factors/remembered-device.ts";
import { isProvenIn, pendingProofs } from "../flow.ts";
import { neededFactor } from "../second-factor.ts";
import type { StepRequest } from "../step.ts";

/**
 * **The person who may keep their account**: they have signed in in this flow with every factor that is asked of them, and nothing since has ended what rests on
 * it. The page of this step can be opened with the flow of any other one, so none of this is known from being here. Cost: 1 D1 call.
 */
export async function findRestoring(at: StepRequest): Promise<User | undefined> {
  const { context, isolate, request, browser, flow, policy } = at;
  const proofs = pendingProofs(flow);
  const sub = proofs[0]?.sub;
  if (sub === undefined || !isProvenIn(flow, sub)) return undefined;
  const version = Math.min(...proofs.map(({ controlVersion }) => controlVersion));
  const [user, factors, { roles }] = await Promise.all([
    findSignedInUser(context, isolate, version, { sub, sid: flow.fid }, { mayLeave: true }),
    findFactors(context.env.DB, sub),
    isolate.users.findRbacClaims(context, sub),
  ]);
  const person = { sub, subject: sub, proofs, roles, isLeaving: true };
  const isRemembered =
    factors !== undefined && (await isRememberedDevice(context, request, browser, { sub, epoch: factors.epoch }));
  const facts = { person, factors, isRemembered, allowed: [] };
  const needed = neededFactor({ flow, facts, policy, nowMs: context.arrivedAtMs });
  return user?.status === "leaving" && needed !== "prove" ? user : undefined;
}
