import { formToken } from "@edge-op/pages/form-token";
import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { findFactors } from "@edge-op/shared/users/factors";
import type { Child } from "hono/jsx";
import { saveRecoveryCodes } from "../factors/factor-store.ts";
import { RecoveryCodeList, recoveryCodesScript } from "../factors/recovery-code-list.tsx";
import { makeRecoveryCodes } from "../factors/recovery-codes.ts";
import { type AuthPageFrame, frameOf, type PageRequest, personFrame } from "../pages/frame.ts";
import { basisOf, type SignedInPerson } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import { accountPages } from "./account-areas.ts";
import { noticeCookie, takeNotice } from "./account-notices.ts";
import { mayChangeFactors, signInAtLevel } from "./factor-level.ts";
import { accountForms, asPerson, asPersonPosting } from "./require-person.ts";

/** Where a person without recovery codes goes on after adding an app. */
export const codesPath = "/account/recovery-codes";

/** **The page that makes recovery codes.** Only who has an app or a passkey can need them. Cost: 1 object call and 1 D1 call. */
export function showMakeCodes(at: PageRequest): Promise<Response> {
  return asPerson(at, async (person) => {
    const refused = await refuseUnlessAtLevel(at, person);
    if (refused !== undefined) return refused;
    const frame = await personFrame(at, person.user);
    const { t } = frame;
    const token = await formToken(at.context, accountForms, person.sessionId);
    const { notice, cookies } = takeNotice(at);
    return respondPage(
      <CodesPage
        frame={frame}
        title={t("factor.makeCodes")}
        text={t("factor.makeText")}
        isAfterApp={notice === "app-added"}
      >
        <form method="post" action={codesPath} class="actions">
          <input type="hidden" name="form_token" value={token} />
          <button type="submit" id="make-codes">
            {t("factor.makeCodes")}
          </button>
          <a class="button quiet" href={accountPages.security} id="cancel">
            {t("factor.back")}
          </a>
        </form>
      </CodesPage>,
      { cookies },
    );
  });
}

/**
 * **Makes recovery codes and shows them**, once: only their hashes are stored. Cost: 1 object call; 2 D1 calls after each other, and tell-person.ts.
 */
export function makeCodes(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person) => {
    const refused = await refuseUnlessAtLevel(at, person);
    if (refused !== undefined) return refused;
    const { context, request } = at;
    const { sub, username, claims } = person.user;
    const { codes, hashes } = await makeRecoveryCodes(sub);
    const setId = randomBase64Url(16);
    const made = { action: "recovery_codes.made", target: setId, actor: sub };
    const takesBack = { kind: "recovery_codes", id: setId } as const;
    await tellPerson(context, { sub, claims, kind: "recovery-codes-made", evidence: made, takesBack }, () => {
      const statements = [saveRecoveryCodes(context, { sub, setId, hashes }), recordAdminEvent(context, made)];
      return writeAs(context, basisOf(person), statements);
    });
    wakeAuditLog(context);
    const frame = await frameOf(context, request);
    const { t } = frame;
    return respondPage(
      <CodesPage frame={frame} title={t("factor.codesTitle")} text={t("factor.codesText")}>
        <RecoveryCodeList frame={frame} username={username} codes={codes}>
          <a class="button quiet" href={accountPages.security} id="done">
            {t("factor.done")}
          </a>
        </RecoveryCodeList>
      </CodesPage>,
      { cookies: [noticeCookie(context, "codes-made")] },
    );
  });
}

async function refuseUnlessAtLevel(at: PageRequest, person: SignedInPerson): Promise<Response | undefined> {
  const factors = await findFactors(at.context.env.DB, person.user.sub);
  if (factors === undefined || !(factors.totp || factors.passkeys)) return redirect(accountPages.security);
  return mayChangeFactors(at, person, factors) ? undefined : signInAtLevel(at, codesPath, factors);
}

function CodesPage(props: {
  readonly frame: AuthPageFrame;
  readonly title: string;
  readonly text: string;
  /** The person has just added an app. */
  readonly isAfterApp?: boolean;
  readonly children?: Child;
}) {
  return (
    <Layout {...props.frame} title={props.title} scripts={[recoveryCodesScript]} account>
      {props.isAfterApp && (
        <p class="note good" role="status">
          {props.frame.t("account.appAdded")}
        </p>
      )}
      <div class="head">
        <h1>{props.title}</h1>
        <p class="muted">{props.text}</p>
      </div>
      {props.children}
    </Layout>
  );
}
