import { clearCookie, formatCookie, readCookie } from "@edge-op/pages/cookies";
import { isText, listOf, objectOf, readStored } from "@edge-op/protocol/encoding/stored-json";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import type { ReceivedRequest } from "@edge-op/shared/http/received-request";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { openSealed, sealText } from "@edge-op/shared/secrets/seal";
import type { PageRequest } from "../pages/frame.ts";
import type { AuthEnv } from "../runtime/auth-env.ts";
import { readDeployment } from "../runtime/deployment.ts";

/** A cookie of at most five ids of 60 characters and five `sub`s: 0.7 KiB, and 2.4 KiB where each `sub` has 255. */
export const accountsAtMost = 5;

/** A session of this browser. */
export interface BrowserAccount {
  /** The session's id. */
  readonly id: string;
  /** `undefined` only for the session of `op-session` that is not in the list: alone, or opened by the previous release. */
  readonly sub: string | undefined;
}

export interface BrowserAccounts {
  /** The one that the account pages are for: who signed in or was chosen last. */
  readonly active: BrowserAccount | undefined;
  /** All of them, each of another person: the active one, then the others by their last choice. */
  readonly all: readonly BrowserAccount[];
  /** Sessions that this browser has left, but whose end could not be confirmed. */
  readonly ending: readonly BrowserAccount[];
}

interface ListedAccount {
  readonly id: string;
  readonly sub: string;
  readonly isEnding?: boolean;
}

const areListed = listOf(objectOf<ListedAccount>({ id: isText, sub: isText }));

const endingMark = "ending.";

/**
 * **The accounts of this browser.** `op-session` is the active session, as in the previous release, which ends it and knows no other. `op-accounts`
 * is absent unless there is another one; it lists every session with its `sub`, sealed, so that a request finds the account that it names without a
 * call. Cost: no I/O.
 */
export async function readAccounts(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
): Promise<BrowserAccounts> {
  const held = readCookie(context, request, "op-session");
  const reference = held?.startsWith(endingMark) ? held.slice(endingMark.length) : undefined;
  const listed = await readList(context, request);
  const left = reference === undefined ? undefined : await openSealed(context.env, "session-seal", reference);
  const id = reference === undefined ? held : undefined;
  const withSub = (each: string) => ({ id: each, sub: listed.find((one) => one.id === each)?.sub });
  const active = id === undefined ? undefined : withSub(id);
  const others = listed.filter((each) => each.id !== id && each.id !== left && !each.isEnding);
  const ending = listed.filter((each) => each.isEnding && each.id !== left);
  return {
    active,
    all: active === undefined ? others : [active, ...others],
    ending: left === undefined ? ending : [withSub(left), ...ending],
  };
}

async function readList(context: RequestContext<AuthEnv>, request: ReceivedRequest): Promise<ListedAccount[]> {
  const sealed = readCookie(context, request, "op-accounts");
  if (sealed === undefined) return [];
  const text = await openSealed(context.env, "session-seal", sealed, "accounts");
  return text === undefined ? [] : [...readStored("accounts", text, areListed)];
}

/** Whether this browser may have an account: without a cookie, nothing is read. */
export function hasAccounts({ context, request }: Pick<PageRequest, "context" | "request">): boolean {
  return (["op-session", "op-accounts"] as const).some((name) => readCookie(context, request, name) !== undefined);
}

/** Whether the session of this browser is the only one. A request without a name is for it. */
export function isAlone({ active, all }: BrowserAccounts): boolean {
  return active !== undefined && all.length === 1;
}

export function withoutAccounts({ active, all, ending }: BrowserAccounts, ids: readonly string[]): BrowserAccounts {
  const isKept = ({ id }: BrowserAccount) => !ids.includes(id);
  return {
    active: active && isKept(active) ? active : undefined,
    all: all.filter(isKept),
    ending: ending.filter(isKept),
  };
}

/** The accounts with this one active. Another session of the same person, and the account of the longest time ago, are not among them. */
export function withActive({ all, ending }: BrowserAccounts, active: BrowserAccount): BrowserAccounts {
  const others = all.filter(({ id, sub }) => id !== active.id && sub !== undefined && sub !== active.sub);
  return { active, all: [active, ...others.slice(0, accountsAtMost - 1)], ending };
}

/** The `Set-Cookie` values that keep these accounts. */
export async function accountCookies(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  { active, all, ending }: BrowserAccounts,
): Promise<string[]> {
  const seconds = readDeployment(context.env).session.absoluteMs / 1000;
  const session =
    active === undefined ? clearCookie(context, "op-session") : formatCookie(context, "op-session", active.id, seconds);
  return [session, ...(await listCookies(context, request, { active, all, ending }))];
}

async function listCookies(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  accounts: BrowserAccounts,
): Promise<string[]> {
  const { active, all, ending } = accounts;
  const rows = [
    ...all.filter(({ sub }) => sub !== undefined).map(({ id, sub }) => ({ id, sub })),
    ...ending.slice(0, accountsAtMost).map(({ id, sub = "" }) => ({ id, sub, isEnding: true })),
  ];
  const isNeeded = ending.length > 0 || all.some((each) => each !== active);
  if (!isNeeded)
    return readCookie(context, request, "op-accounts") === undefined ? [] : [clearCookie(context, "op-accounts")];
  const sealed = await sealText(context.env, "session-seal", JSON.stringify(rows), { bound: "accounts" });
  return [formatCookie(context, "op-accounts", sealed, readDeployment(context.env).session.absoluteMs / 1000)];
}

/**
 * **Signs a browser out although the end of its session could not be confirmed**: the 503 replaces the active session in its cookie with a sealed
 * reference, which opens no session, also not for the previous release, and marks another one in the list. The next logout or sign-in of this browser
 * ends the session again and waits for the remaining work.
 */
export async function whileEnding<T>(
  { context, request }: Pick<PageRequest, "context" | "request">,
  sessionId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const cookie = await endingCookie(context, request, sessionId);
    throw new UnavailableError(error.store, error.cause, { ...error.headers, "Set-Cookie": cookie });
  }
}

async function endingCookie(
  context: RequestContext<AuthEnv>,
  request: ReceivedRequest,
  sessionId: string,
): Promise<string> {
  const accounts = await readAccounts(context, request);
  const other = [...accounts.all, ...accounts.ending].find(({ id, sub }) => id === sessionId && sub !== undefined);
  if (other !== undefined && other !== accounts.active) {
    const left = withoutAccounts(accounts, [sessionId]);
    const [cookie = ""] = await listCookies(context, request, { ...left, ending: [...left.ending, other] });
    return cookie;
  }
  const reference = endingMark + (await sealText(context.env, "session-seal", sessionId));
  return formatCookie(context, "op-session", reference, readDeployment(context.env).session.absoluteMs / 1000);
}
