import { clientAddress } from "@edge-op/shared/http/client-address";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { passwordLanes, sharedLane } from "@edge-op/shared/users/attempt-limits";
import { canonicalUsername } from "@edge-op/shared/users/username";
import type { AuthEnv } from "../../auth-env.ts";
import type { Browser } from "../../browser/cookies.ts";
import type { AuthIsolate } from "../../isolate.ts";
import { isKnownBrowser, mayBeKnown, type WayIn } from "../known-browser.ts";
import { addressBuckets, type RefusedAttempt, type ReservedAttempt, reserveAttempt } from "../sign-in-limits.ts";

/** An account, or a name without an account. Both are throttled alike, so that throttling does not reveal which names exist. */
export type PasswordAccount = { readonly sub: string } | { readonly unknownName: string };

export function passwordWayIn(sub: string): WayIn {
  return `password\n${sub}`;
}

/**
 * **Reserves an attempt at a password before it is verified**: first in the bucket of the address, then in those of the account, in any spelling of
 * its name. The caller releases a correct attempt. A browser that signed in to the account before has a lane to itself and does not count for its
 * address, so that nobody else keeps its owner out. The account is read only if the address has attempts left, or for a browser that claims to be
 * known. Cost: 2 object calls, 1 in a known browser; 1 more for a wrong password.
 */
export async function reservePasswordAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  findAccount: () => Promise<PasswordAccount>,
): Promise<ReservedAttempt | RefusedAttempt> {
  let account: PasswordAccount | undefined;
  if (mayBeKnown(context, request)) {
    account = await findAccount();
    const own = await reserveInKnownBrowser(context, isolate, request, browser, account);
    if (own !== undefined) return own;
  }
  const shared = addressBuckets(context, request, "address");
  const first = await reserveAttempt(context, isolate, shared, { method: "password", sub: undefined });
  if (first.kind === "refused") return first;
  account ??= await findAccount();
  const sub = "sub" in account ? account.sub : undefined;
  const lanes = passwordLanes(clientAddress(context, request));
  const bucket = { name: "account", subject: subjectOf(account), lanes } as const;
  const second = await reserveAttempt(context, isolate, [bucket], { method: "password", sub });
  if (second.kind === "refused") return second;
  const release = async () => {
    await Promise.all([first.release(), second.release()]);
  };
  return { ...second, release };
}

async function reserveInKnownBrowser(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  account: PasswordAccount,
): Promise<ReservedAttempt | RefusedAttempt | undefined> {
  if ("unknownName" in account) return undefined;
  const wayIn = passwordWayIn(account.sub);
  if (!(await isKnownBrowser(context, request, browser, wayIn))) return undefined;
  const bucket = { name: "browser", subject: `known ${browser.id} ${wayIn}`, lanes: [sharedLane] } as const;
  return reserveAttempt(context, isolate, [bucket], { method: "password", sub: account.sub });
}

function subjectOf(account: PasswordAccount): string {
  if ("sub" in account) return `account ${passwordWayIn(account.sub)}`;
  const name = canonicalUsername(account.unknownName) ?? account.unknownName.normalize("NFKC").toLowerCase();
  return `unknown account ${name}`;
}
