import { withCookies } from "@edge-op/pages/respond-page";
import { forgetInBackground } from "@edge-op/shared/users/offline-grants";
import { spendPushedRequest } from "../authorization/pushed-request.ts";
import type { PageRequest } from "../pages/frame.ts";
import { type OpenOptions, openSession } from "../session/open-session.ts";
import { decideInSession, type Rules } from "./decide-in-session.ts";
import { admission, issueCode, offlineGrant, reliedConsent, sendCode } from "./grant-code.ts";
import type { CheckedRequest, InSession } from "./in-session.ts";
import { type FlowPosition, type SigningIn, signInAgain } from "./position.ts";

interface Opening extends Rules, SigningIn {
  readonly found: InSession;
  readonly opening: OpenOptions;
}

/**
 * **Opens the session of a sign-in that needs no more, and sends the code that was issued beside it.** Nobody has the code before the session is
 * open, so one of a session that was not opened is void. A session that was opened in place of the prepared one decides the request anew.
 */
export async function openWithCode(
  at: PageRequest,
  { flow, browser, added }: FlowPosition,
  checked: CheckedRequest,
  { signIn, prepared, found, opening, ...rules }: Opening,
): Promise<Response> {
  const { context, isolate } = at;
  const offline = offlineGrant(checked, found);
  const listed = { consent: reliedConsent(checked, found), grant: offline };
  const [opened, code] = await Promise.all([
    openSession(at, signIn, prepared, { ...opening, admitted: admission(checked, found, false), listed }),
    issueCode(at, checked, rules.policy, flow, found),
    spendPushedRequest(context, isolate, checked.pushedId),
    added?.write?.(),
  ]);
  if (opened.kind === "opened" && opened.session === prepared)
    return withCookies(await sendCode(at, checked, code), opened.cookies);
  // The code is not sent.
  if (offline !== undefined) forgetInBackground(context, offline.sub, offline);
  if (opened.kind !== "opened") return signInAgain(at, flow, browser, opened);
  const again = { flow: { ...flow, isOpened: true }, browser };
  const other = { ...checked, pushedId: undefined };
  const response = await decideInSession(at, again, other, {
    ...rules,
    account: { kind: "session", id: opened.session.id, isAlone: false },
  });
  return withCookies(response, opened.cookies);
}
