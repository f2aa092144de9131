import { canonicalUsername } from "@edge-op/shared/directory/username";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import type { AuthEnv } from "../../auth-env.ts";
import type { Browser } from "../../browser/cookies.ts";
import type { AuthIsolate } from "../../isolate.ts";
import { isKnownBrowser, type WayIn } from "../known-browser.ts";
import {
  accountLimit,
  addressBuckets,
  type Bucket,
  type RefusedAttempt,
  type ReservedAttempt,
  reserveAttempt,
} from "../sign-in-limits.ts";

/** An account, or a name that no account has. Both are throttled alike, so that throttling does not reveal which names exist. */
export type PasswordAccount = { readonly sub: string } | { readonly unknownName: string };

export function passwordWayIn(sub: string): WayIn {
  return `password\n${sub}`;
}

/**
 * **Reserves an attempt at a password before it is verified**: first in the bucket of the address, then in that of the account, whatever
 * spelling names it. The caller releases a correct attempt. A browser that signed in to the account before has a bucket of its own, so
 * that a stranger who fills the account's bucket does not lock its owner out. The account is read only if the address has attempts left.
 * Cost: 2 object calls; 1 more for a wrong password.
 */
export async function reservePasswordAttempt(
  context: RequestContext<AuthEnv>,
  isolate: AuthIsolate,
  request: ReceivedRequest,
  browser: Browser,
  findAccount: () => Promise<PasswordAccount>,
): Promise<ReservedAttempt | RefusedAttempt> {
  const shared = addressBuckets(context, request, "address");
  const first = await reserveAttempt(context, isolate, shared, { method: "password", sub: undefined });
  if (first.kind === "refused") return first;
  const account = await findAccount();
  const bucket = await accountBucket(context, request, browser, account);
  const sub = "sub" in account ? account.sub : undefined;
  const second = await reserveAttempt(context, isolate, [bucket], { method: "password", sub });
  if (second.kind === "refused") return second;
  const release = async () => {
    await Promise.all([first.release(), second.release()]);
  };
  return { ...second, release };
}

async function accountBucket(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  browser: Browser,
  account: PasswordAccount,
): Promise<Bucket> {
  if ("unknownName" in account) {
    const name = canonicalUsername(account.unknownName) ?? account.unknownName.normalize("NFKC").toLowerCase();
    return { name: "account", subject: `unknown account ${name}`, limit: accountLimit };
  }
  const wayIn = passwordWayIn(account.sub);
  return (await isKnownBrowser(context, request, browser, wayIn))
    ? { name: "browser", subject: `known ${browser.id} ${wayIn}`, limit: accountLimit }
    : { name: "account", subject: `account ${wayIn}`, limit: accountLimit };
}
