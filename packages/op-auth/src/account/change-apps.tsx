import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { sessionVersion } from "@edge-op/shared/sessions/sessions";
import { findFactors, listFactors, removeFactor } from "@edge-op/shared/users/factors";
import { type AppSetup, confirmSetup, SetupApp, setupKey } from "../factors/app-setup.tsx";
import { type PageRequest, personFrame } from "../pages/frame.ts";
import { openSession, prepareSession } from "../session/open-session.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import { accountPages } from "./account-areas.ts";
import { accountWith } from "./account-notices.ts";
import { mayChangeFactors, signInAtLevel } from "./factor-level.ts";
import { codesPath } from "./new-recovery-codes.tsx";
import { accountForms, asPerson, asPersonPosting, endOtherSessions } from "./require-person.ts";

const path = "/account/apps";
const isSetupId = (id: string | null | undefined): id is string => /^[A-Za-z0-9_-]{22}$/.test(id ?? "");

/** **The page that adds an authenticator app**, soon after a sign-in at the level of the account. Cost: 1 object call and 1 D1 call. */
export function showAddApp(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const factors = await findFactors(at.context.env.DB, person.user.sub);
    if (factors === undefined) return redirect(accountPages.security);
    if (!mayChangeFactors(at, person, factors)) return signInAtLevel(at, path, factors);
    const id = new URL(at.request.url).searchParams.get("setup");
    // In the URL, so that loading the page again shows the same key.
    if (!isSetupId(id)) return redirect(`${path}?${new URLSearchParams({ setup: randomBase64Url(16) })}`);
    return renderAddApp(at, person, id, false);
  });
}

/**
 * **The first code of a new app**, which stores it. An app that is not confirmed changes nothing. Cost: 1 object call; 2 D1 calls after each other; 1
 * of each for the session.
 */
export function addApp(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const id = form.get("setup");
    const factors = await findFactors(context.env.DB, person.user.sub);
    if (factors === undefined || !isSetupId(id)) return redirect(accountPages.security);
    if (!mayChangeFactors(at, person, factors)) return signInAtLevel(at, path, factors);
    const setup = await setupOf(at, person, id);
    const added = await confirmSetup(at, setup, form.get("code") ?? "", {
      basis: basisOf(person),
      isFirst: false,
    });
    if (added === undefined) return renderAddApp(at, person, id, true);
    const cookies = [added.cookie, ...(await addProof(at, person, added.factorId))];
    return accountWith(context, "app-added", factors.recoveryCodes ? { cookies } : { cookies, path: codesPath });
  });
}

/** The code that confirmed an app is a second factor, so that the person goes on at the level that the account now has. */
async function addProof(at: PageRequest, person: SignedInPerson, factorId: string): Promise<readonly string[]> {
  const { session, sessionId } = person;
  const { sub } = session;
  const version = sessionVersion(sessionId);
  const atMs = at.context.arrivedAtMs;
  const proof = { method: "totp", sub, credential: factorId, atMs, controlVersion: version } as const;
  const signIn = { sub, version, proofs: [...session.proofs.filter(({ method }) => method !== "totp"), proof] };
  const opened = await openSession(at, signIn, await prepareSession(at, signIn, { person }));
  return opened.kind === "opened" ? opened.cookies : [];
}

/**
 * **Removes an app or the recovery codes.** Other sessions end, grants stay, and remembered browsers ask again. Cost: 1 object call; 3 D1 calls after
 * each other, and those of tell-person.ts and require-person.ts.
 */
export function removeOwnFactor(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const { sub, claims } = person.user;
    const id = form.require("factor_id");
    const [factors, listed] = await Promise.all([findFactors(context.env.DB, sub), listFactors(context.env.DB, sub)]);
    const factor = listed.find((each) => each.id === id && each.kind !== "passkey");
    if (factors === undefined || factor === undefined) return redirect(accountPages.security);
    if (!mayChangeFactors(at, person, factors)) return signInAtLevel(at, accountPages.security, factors);
    const removed = { action: `${factor.kind}.removed`, target: id, actor: sub };
    const kind = factor.kind === "totp" ? "app-removed" : "recovery-codes-removed";
    const isRemoved = await tellPerson(context, { sub, claims, kind, evidence: removed }, async () => {
      const event = recordAdminEvent(context, removed, { ifChanged: true });
      const { DB } = context.env;
      return writeAs(context, basisOf(person), removeFactor(DB, sub, factor, event));
    });
    if (!isRemoved) return redirect(accountPages.security);
    wakeAuditLog(context);
    await endOtherSessions(at, person.session, "a factor was removed");
    return accountWith(context, "factor-removed");
  });
}

async function setupOf({ context, request }: PageRequest, { user }: SignedInPerson, id: string): Promise<AppSetup> {
  return { user, browser: await identifyBrowser(context, request), id };
}

async function renderAddApp(
  at: PageRequest,
  person: SignedInPerson,
  id: string,
  isRefused: boolean,
): Promise<Response> {
  const { context } = at;
  const frame = await personFrame(at, person.user);
  const { t } = frame;
  const setup = await setupOf(at, person, id);
  const fields = { form_token: await formToken(context, accountForms, person.sessionId), setup: id };
  const page = (
    <Layout {...frame} title={t("factor.setUpTitle")} account>
      <div class="head">
        <h1>{t("factor.setUpTitle")}</h1>
        <p class="muted">{t("factor.setUpText")}</p>
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("factor.setUpRefused")}
        </p>
      )}
      <SetupApp t={t} setupKey={await setupKey(context, setup)} form={{ action: path, fields }} isRefused={isRefused} />
      <div class="actions">
        <a class="button quiet" href={accountPages.security} id="cancel">
          {t("factor.back")}
        </a>
      </div>
    </Layout>
  );
  const cookies = [setup.browser.setCookie];
  return respondPage(page, { status: isRefused ? 400 : 200, cookies });
}
