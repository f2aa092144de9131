import { personalDates } from "@edge-op/pages/describe-values";
import { MessagePage } from "@edge-op/pages/message-pages";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { forgetOfflineGrants } from "@edge-op/shared/users/offline-grants";
import type { User } from "@edge-op/shared/users/user";
import { changeDeletion } from "@edge-op/shared/users/user-directory";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { accountCookies, readAccounts, withoutAccounts } from "../session/browser-accounts.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { changeAs, whileInForce } from "../session/write-as.ts";
import { accountPages } from "./account-areas.ts";
import { backWith } from "./account-notices.ts";
import { refuseBelowLevel } from "./factor-level.ts";
import { asPersonPosting, mayChangeNow } from "./require-person.ts";

const dayMs = 86_400_000;

/** The day of the deletion of an account whose person asks for it now. */
export function deletionDate(
  { context }: Pick<PageRequest, "context">,
  language: string,
  user: Pick<User, "claims">,
): string {
  const atMs = context.arrivedAtMs + context.settings.deletionGraceDays * dayMs;
  return personalDates(context, language, user).date(atMs);
}

/**
 * **Deletes a person's account in some days**, soon after a sign-in at its level. A cut-off ends every session and grant at once, on every shard, and
 * all addresses are told. Until then a sign-in leads to the step that keeps the account (restore-step.tsx); afterwards `ControlPlane` erases it.
 * Cost: 2 object calls, 1 D1 call, tell-person.ts and one control change over all live shards.
 */
export function deleteAccount(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person) => {
    const { context } = at;
    const { deletionGraceDays } = context.settings;
    if (deletionGraceDays === 0) return redirect(accountPages.activity);
    const refused = await refuseBelowLevel(at, person, "/account/delete");
    if (refused !== undefined) return refused;
    const { DB } = context.env;
    const { sub, claims } = person.user;
    if (!(await mayChangeNow(at, sub))) return backWith(at, "too-many-changes");
    const atMs = context.arrivedAtMs;
    const asked = { action: "account.deletion_asked", target: sub, actor: sub };
    const statements = [
      changeDeletion(DB, sub, { atMs, deletesAtMs: atMs + deletionGraceDays * dayMs }),
      recordAdminEvent(context, asked, { ifChanged: true }),
      ...endUserSessions(DB, sub, { reason: "account deletion asked", atMs }),
      forgetOfflineGrants(DB, sub),
    ];
    const change = {
      changes: [{ kind: "user", id: sub }],
      cutOff: { kind: "sub", id: sub, actor: sub },
    } as const;
    await tellPerson(context, { sub, claims, kind: "deletion-asked", evidence: asked }, () =>
      changeAs(context, [whileInForce(DB, basisOf(person))], statements, change),
    );
    wakeAuditLog(context);
    const left = withoutAccounts(await readAccounts(context, at.request), [person.sessionId]);
    return redirect("/account/deleted", await accountCookies(context, at.request, left));
  });
}

/** **The page after the deletion**, the same for everyone. Cost: 0. */
export async function showLeaving({ context, request }: PageRequest): Promise<Response> {
  const frame = await frameOf(context, request);
  const { t } = frame;
  const text = t("data.leavingText", { date: deletionDate({ context }, t.language, { claims: {} }) });
  const link = { href: "/account", text: frame.t("home.signIn") };
  return respondPage(<MessagePage frame={frame} title={t("data.leavingTitle")} text={text} link={link} />);
}
