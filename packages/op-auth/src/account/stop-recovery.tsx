import { personalDates } from "@edge-op/pages/describe-values";
import { formToken } from "@edge-op/pages/form-token";
import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import { openStopLink, type StopLink, stopPath } from "@edge-op/shared/mail/sealed-links";
import type { Child } from "hono/jsx";
import { HiddenFields } from "../pages/form-parts.tsx";
import { type AuthPageFrame, frameOf, type PageRequest } from "../pages/frame.ts";
import { findRecovery, hasRecoveries, stateOf, stopNow, waitMs } from "../session/address-recovery.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { accountPages, ownStopPath } from "./account-areas.ts";
import { accountWith } from "./account-notices.ts";
import { ConfirmPage } from "./account-parts.tsx";
import { accountForms, asPersonPosting } from "./require-person.ts";

/**
 * **The page of the link that stops a recovery by mail alone**, in the mails about it. It changes nothing, so a program that opens links stops
 * nothing. Nobody signs in. Cost: 1 D1 call; 0 for a link that this provider did not make.
 */
export async function showStop({ context, request }: PageRequest): Promise<Response> {
  const token = new URL(request.url).searchParams.get("token") ?? "";
  const link = await openStopLink(context.env, token);
  if (link === undefined || !(await isRunning(context, link))) return respondEnded({ context, request }, "gone");
  const frame = await frameOf(context, request);
  const { t } = frame;
  const texts = { title: t("byAddress.stopTitle"), text: t("byAddress.stopText"), submit: t("byAddress.stop") };
  return respondPage(<ConfirmPage frame={frame} view={{ ...texts, action: stopPath, fields: { token } }} />);
}

/** **Stops it.** Of two stops at once, the second finds it stopped. Cost: 1 D1 call. */
export async function submitStop({ context, request }: PageRequest): Promise<Response> {
  const link = await openStopLink(context.env, readForm(request).get("token") ?? "");
  const isStopped = link !== undefined && (await stopNow(context, link));
  return respondEnded({ context, request }, isStopped ? "stopped" : "gone");
}

async function isRunning({ env, arrivedAtMs }: PageRequest["context"], { sub, id }: StopLink): Promise<boolean> {
  const recovery = await findRecovery(env.DB, sub);
  return recovery?.id === id && ["waiting", "usable"].includes(stateOf(recovery, arrivedAtMs));
}

async function respondEnded(
  { context, request }: Pick<PageRequest, "context" | "request">,
  result: "stopped" | "gone",
): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const isStopped = result === "stopped";
  const title = t(isStopped ? "byAddress.stoppedTitle" : "byAddress.stopTitle");
  const text = t(isStopped ? "byAddress.stopped" : "byAddress.gone");
  const link = { href: accountPages.security, text: t("takeBack.toAccount") };
  const page = <MessagePage frame={frame} title={title} text={text} link={link} sign={isStopped ? "done" : "ended"} />;
  return respondPage(page, { status: isStopped ? 200 : 400 });
}

/** **Whoever is signed in stops it**, also long after their sign-in: a stop takes nothing from anybody. Cost: 1 object call, 1 D1 call. */
export function stopOwn(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async ({ user: { sub }, session: { sid } }) => {
    const isStopped = hasRecoveries(at.context) && (await stopNow(at.context, { sub, sid }));
    return isStopped ? accountWith(at.context, "recovery-stopped") : redirect(accountPages.you);
  });
}

/**
 * **The note of the account pages about a recovery by mail alone**: that somebody has asked for it, with the button that stops it, or that it was
 * stopped. Cost: 0; 1 D1 call with `RECOVERY=address`.
 */
export async function findRecoveryNote(
  { context }: PageRequest,
  frame: AuthPageFrame,
  { user, sessionId }: SignedInPerson,
): Promise<Child | undefined> {
  if (!hasRecoveries(context)) return undefined;
  const recovery = await findRecovery(context.env.DB, user.sub);
  const state = recovery && stateOf(recovery, context.arrivedAtMs);
  if (recovery === undefined || state === "over") return undefined;
  const { t } = frame;
  const { time } = personalDates(context, t.language, user);
  const { key, askedAtMs, stoppedAtMs } = recovery;
  if (stoppedAtMs !== undefined) {
    return (
      <p class="note" id="recovery">
        {t("byAddress.noteStopped", { address: key, time: time(stoppedAtMs) })}
      </p>
    );
  }
  return (
    <form method="post" action={ownStopPath} class="note bad" id="recovery">
      <HiddenFields fields={{ form_token: await formToken(context, accountForms, sessionId) }} />
      {t("byAddress.note", { address: key, time: time(askedAtMs + waitMs) })}
      <button type="submit" class="filled slim danger top" id="stop-recovery">
        {t("byAddress.stop")}
      </button>
    </form>
  );
}
