import { laneOf } from "@edge-op/shared/sessions/attempts";
import { reserveAttempt } from "../attempts/sign-in-limits.ts";
import type { AccountRequest } from "./require-person.ts";

const lanes = laneOf({ capacity: 10, drainMs: 360_000 });

/**
 * **Whether a person may make another control change** that costs them no code and no attempt: ten, then ten an hour, because each stops every shard for a
 * moment. Cost: 1 object call.
 */
export async function mayChangeNow({ context, isolate }: AccountRequest, sub: string): Promise<boolean> {
  const bucket = { name: "account", subject: `changes ${sub}`, lanes } as const;
  return (await reserveAttempt(context, isolate, [bucket], "code")).retryAfterSeconds === undefined;
}
