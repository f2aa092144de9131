import type { Browser } from "@edge-op/pages/cookies";
import { clientAddress } from "@edge-op/shared/http/client-address";
import { passwordLanes, sharedLane } from "@edge-op/shared/sessions/attempt-limits";
import { canonicalUsername } from "@edge-op/shared/users/username";
import { isKnownBrowser, type WayIn } from "../../../attempts/known-browser.ts";
import { addressBuckets, type Bucket, type ReservedAttempt, reserveAttempt } from "../../../attempts/sign-in-limits.ts";
import type { FlowRequest } from "../../step.ts";

/**
 * The counter of a name, the same for every spelling. A name without an account has one too, so that throttling does not reveal which names exist; so has text that no account
 * can have as its name.
 */
export function passwordWayIn(username: string): WayIn {
  return `password\n${canonicalUsername(username) ?? `\n${username.normalize("NFKC").toLowerCase()}`}`;
}

/**
 * **Reserves an attempt at a password before it is verified**, in the bucket of the address and that of the name, while the account is read. The caller
 * releases a correct attempt. A browser that signed in by this name before has a lane to itself and does not count for its address, so that nobody
 * else keeps its owner out. Cost: 2 object calls in parallel, 1 in a known browser; 1 more for a wrong or a refused attempt.
 */
export async function reservePasswordAttempt(
  { context, isolate, request }: FlowRequest,
  browser: Browser,
  username: string,
): Promise<ReservedAttempt> {
  const wayIn = passwordWayIn(username);
  const own: Bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: [sharedLane] };
  const account: Bucket = {
    name: "account",
    subject: `account ${wayIn}`,
    lanes: passwordLanes(clientAddress(context, request)),
  };
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const buckets = isKnown ? [own] : [...addressBuckets(context, request, "address"), account];
  return reserveAttempt(context, isolate, buckets, "password");
}
