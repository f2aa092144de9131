import type { Client } from "@edge-op/shared/clients/client";
import { pairwiseSubject } from "@edge-op/shared/clients/pairwise-subject";
import type { User } from "@edge-op/shared/users/user";
import { listAddresses } from "@edge-op/shared/users/user-addresses";
import type { CodeRequest } from "../authorization/authorization-request.ts";
import type { PageRequest } from "../pages/frame.ts";
import { type BrowserAccount, type BrowserAccounts, isAlone } from "./browser-accounts.ts";

/** What a request or flow says about whose it is. */
export interface Whose {
  /** `sub` of the person to whom the flow is bound: chosen in it, or proven in it. */
  readonly chosen?: string | undefined;
  /** The person asked for another account, and nothing is proven yet. */
  readonly isOther?: boolean | undefined;
  /** The request of a client; absent for a page of this provider. */
  readonly asked?: (() => Promise<Asked>) | undefined;
}

interface Asked {
  readonly client: Client;
  readonly request: Pick<CodeRequest, "expectedSubject" | "loginHint" | "prompt" | "organization">;
}

/** `ask`: the person has to choose. `any`: nobody is named, and which of the sessions are left decides. */
export type Choice =
  | { readonly kind: "account"; readonly account: BrowserAccount }
  | { readonly kind: "nobody" }
  | { readonly kind: "ask" }
  | { readonly kind: "any" };

const nobody: Choice = { kind: "nobody" };

/**
 * **Which account of this browser a request or a flow is for.** It is never answered for another one:
 *
 * 1. the one that was chosen or proven in its flow; after "use another account" nobody, until somebody signs in;
 * 2. a page of this provider: the active one;
 * 3. the one that the client names: by `id_token_hint` or the claim `sub`, else by a `login_hint` that is an address, a username or a `sub`. Nobody,
 *    if no account has that subject. If none has that address, the person chooses, unless `prompt=login` lets them sign in anyway;
 * 4. the active one if it is the only one; otherwise the person chooses (`account_selection_required`, OIDC Core §3.1.2.6).
 *
 * `all` has the `sub` of each account. A browser with one active account gets it in any case, because its session has to be read before it is judged
 * ({@link judgeAlone}). Cost: 0 with one account; otherwise that of the users where a `login_hint` names an address.
 */
export async function chooseAccount(at: PageRequest, accounts: BrowserAccounts, whose: Whose): Promise<Choice> {
  const { active, all } = accounts;
  const [first] = all;
  if (first === undefined) return nobody;
  if (isAlone(accounts)) return { kind: "account", account: first };
  if (whose.chosen !== undefined) return toChoice(all.filter(({ sub }) => sub === whose.chosen));
  if (whose.isOther) return nobody;
  if (whose.asked === undefined) return toChoice(active === undefined ? [] : [active]);
  const { client, request } = await whose.asked();
  const { expectedSubject } = request;
  if (expectedSubject !== undefined) {
    const subjects = await Promise.all(all.map(({ sub = "" }) => subjectOf(at, client, sub)));
    return toChoice(all.filter((_, index) => subjects[index] === expectedSubject));
  }
  if (request.loginHint === undefined) return { kind: "any" };
  const users = await Promise.all(all.map(({ sub = "" }) => at.isolate.users.find(at.context, sub)));
  const named = await findNamed(
    at,
    users.filter((user) => user !== undefined),
    { client, request },
  );
  if (named === "not understood") return { kind: "any" };
  if (named.length === 0) return request.prompt.includes("login") ? nobody : { kind: "ask" };
  return named.length === 1 ? toChoice(all.filter(({ sub }) => sub === named[0]?.sub)) : { kind: "ask" };
}

function toChoice([account]: readonly BrowserAccount[]): Choice {
  return account === undefined ? nobody : { kind: "account", account };
}

/**
 * **The same for the only account of a browser**, when its session and user have been read. An expected subject is judged by the sign-in step. Cost:
 * 0; 1 D1 call if the `login_hint` is an address that is not their main one.
 */
export async function judgeAlone(at: PageRequest, user: User, whose: Whose): Promise<"account" | "nobody" | "ask"> {
  if (whose.chosen !== undefined) return whose.chosen === user.sub ? "account" : "nobody";
  if (whose.isOther || whose.asked === undefined) return "account";
  const asked = await whose.asked();
  if (asked.request.expectedSubject !== undefined || asked.request.loginHint === undefined) return "account";
  const named = await findNamed(at, [user], asked);
  if (named === "not understood" || named.length > 0) return "account";
  return asked.request.prompt.includes("login") ? "nobody" : "ask";
}

async function subjectOf({ context }: PageRequest, client: Client, sub: string): Promise<string> {
  return (await pairwiseSubject(context.env, client, sub)) ?? sub;
}

/**
 * Those whom a `login_hint` names. One that is no address and nobody's is not understood. Cost: 0; for an address that is no main one 1 D1 call
 * each.
 */
async function findNamed(
  at: PageRequest,
  users: readonly User[],
  { client, request: { loginHint = "" } }: Asked,
): Promise<readonly User[] | "not understood"> {
  const hint = loginHint.trim().toLowerCase();
  const isNamed = async ({ sub, username, claims }: User) =>
    [username, claims.email, claims.preferred_username].some((name) => name?.toLowerCase() === hint) ||
    loginHint === (await subjectOf(at, client, sub));
  const named = await filterBy(users, isNamed);
  if (named.length > 0) return named;
  if (!hint.includes("@")) return "not understood";
  return filterBy(users, async ({ sub }) => {
    const addresses = await listAddresses(at.context.env.DB, sub);
    return addresses.some(({ address }) => address.toLowerCase() === hint);
  });
}

async function filterBy(users: readonly User[], isKept: (user: User) => Promise<boolean>): Promise<User[]> {
  const kept = await Promise.all(users.map(isKept));
  return users.filter((_, index) => kept[index]);
}
