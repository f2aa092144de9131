import type { Browser } from "@edge-op/pages/cookies";
import type { Lane } from "@edge-op/shared/sessions/attempts";
import { isKnownBrowser, type WayIn } from "../attempts/known-browser.ts";
import { type Bucket, type ReservedAttempt, reserveAttempt } from "../attempts/sign-in-limits.ts";
import type { FlowRequest } from "../steps/step.ts";

const minute = 60_000;
/** Five, then one every five minutes; after a hundred, one every three hours. Three codes are valid at once: a guesser who has the password succeeds in a year with 1 %. */
const codeLane: Lane = [
  { part: "", limit: { capacity: 5, drainMs: 5 * minute } },
  { part: "sustained", limit: { capacity: 100, drainMs: 180 * minute } },
];

export function codeWayIn(sub: string): WayIn {
  return `code\n${sub}`;
}

/**
 * **Reserves an attempt at a code before it is verified**, while the factors are read. A browser in which a code of the person has succeeded has a
 * bucket to itself, so that a stranger who has the password does not keep the owner out. Addresses are counted with the first proof. Cost: 1 object
 * call; 1 more for a wrong or a refused attempt.
 */
export async function reserveCodeAttempt(
  { context, isolate, request }: FlowRequest,
  browser: Browser,
  sub: string,
): Promise<ReservedAttempt> {
  const wayIn = codeWayIn(sub);
  const isKnown = await isKnownBrowser(context, request, browser, wayIn);
  const bucket: Bucket = isKnown
    ? { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: [codeLane] }
    : { name: "account", subject: `account ${wayIn}`, lanes: [codeLane] };
  return reserveAttempt(context, isolate, [bucket], "code");
}
