import { redirect } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { endSession, withdrawConsent } from "@edge-op/shared/endings/endings";
import { describeDevice } from "@edge-op/shared/http/asker";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { findUserSession } from "@edge-op/shared/sessions/user-sessions";
import { hasAccess } from "@edge-op/shared/users/consents";
import { renamePasskey } from "@edge-op/shared/users/credentials";
import { findFactors, type ListedFactor, listFactors, removeFactor } from "@edge-op/shared/users/factors";
import { registerPasskey } from "../factors/register-passkey.ts";
import type { PageRequest } from "../pages/frame.ts";
import { pathToChoose } from "../session/account-list.tsx";
import { readAccounts } from "../session/browser-accounts.ts";
import { signOut } from "../session/logout-endpoint.tsx";
import { basisOf } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { mfaAcr } from "../step/second-factor.ts";
import { accountPages } from "./account-areas.ts";
import { accountWith } from "./account-notices.ts";
import { findApplication } from "./applications.ts";
import { mayAddConditionally, mayAddPasskey, mayRemovePasskey } from "./factor-level.ts";
import { passkeyNameLength } from "./passkeys-section.tsx";
import { asPersonPosting, endOtherSessions } from "./require-person.ts";

/**
 * **Adds a passkey**, only soon after a sign-in, so that nobody can add theirs to a browser left unattended; by a passkey, if the person has one. A
 * passkey that the browser created without asking requires a sign-in by password.
 */
export function addPasskey(at: PageRequest): Promise<Response> {
  const { context, isolate } = at;
  return asPersonPosting(at, async (person, form) => {
    const credential = form.get("credential");
    const factors = await listFactors(context.env.DB, person.user.sub);
    if (credential === undefined || !mayAddPasskey(at, person, factors)) {
      const requiredAcr = factors.some(({ kind }) => kind === "passkey") ? ["phr"] : mfaAcr;
      return signInFor(at, accountPages.security, factors.length === 0 ? {} : { requiredAcr });
    }
    const ceremony = form.require("ceremony");
    const isTheirs = (await isolate.challenges.take(context, "passkey-ceremony", ceremony)) === person.user.sub;
    const name = nameOf(at, factors);
    const isConditional = form.get("conditional") === "1";
    const isAllowed = isTheirs && (!isConditional || mayAddConditionally(at, person, factors));
    const created = { ceremonyId: ceremony, response: credential, name, isConditional };
    const isAdded = isAllowed && (await registerPasskey(context, person.user, basisOf(person), created));
    return accountWith(context, isAdded ? "passkey-added" : "passkey-failed");
  });
}

/** The browser and device, with a number if the person already has a passkey of that name. */
function nameOf({ request }: PageRequest, factors: readonly Pick<ListedFactor, "name">[]): string {
  const device = describeDevice(request.headers.get("user-agent"));
  const taken = new Set(factors.map(({ name }) => name));
  let name = device;
  for (let number = 2; taken.has(name); number += 1) name = `${device} (${number})`;
  return name;
}

/**
 * **Removes a passkey**, soon after a sign-in, but never the last way in. Other sessions end, and remembered browsers ask again. Cost: 2 object
 * calls; 2 D1 calls, all after each other, and those of require-person.ts.
 */
export function removePasskey(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const { context } = at;
    const { sub, claims } = person.user;
    const id = form.require("credential_id");
    const factors = await findFactors(context.env.DB, sub);
    if (factors === undefined || !mayRemovePasskey(at, person, factors)) {
      return signInFor(at, accountPages.security, factors?.totp ? { requiredAcr: mfaAcr } : {});
    }
    const removed = { action: "passkey.removed", target: id, actor: sub };
    const isRemoved = await tellPerson(
      context,
      { sub, claims, kind: "passkey-removed", evidence: removed },
      async () => {
        const event = recordAdminEvent(context, removed, { ifChanged: true });
        const statements = removeFactor(context.env.DB, sub, { kind: "passkey", id }, event, { keepsWayIn: true });
        return writeAs(context, basisOf(person), statements);
      },
    );
    if (!isRemoved) {
      const listed = await listFactors(context.env.DB, sub);
      const isKept = listed.some((each) => each.kind === "passkey" && each.id === id);
      // Otherwise the form was sent twice: nothing was kept because it is the last way in.
      return isKept ? accountWith(context, "last-way-in") : redirect(accountPages.security);
    }
    wakeAuditLog(context);
    await endOtherSessions(at, person.session, "a factor was removed");
    return accountWith(context, "factor-removed");
  });
}

/** **Renames a passkey.** A name is one line of text, trimmed and normalized to NFC. */
export function changePasskeyName(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async (person, form) => {
    const name = (form.get("name") ?? "").normalize("NFC").trim();
    const isName = name.length >= 1 && name.length <= passkeyNameLength && name.isWellFormed() && !/\p{Cc}/u.test(name);
    const credentialId = form.require("credential_id");
    if (!isName) return accountWith(at.context, "passkey-not-renamed");
    const { DB } = at.context.env;
    const rename = renamePasskey(DB, person.user.sub, { credentialId, name });
    const isRenamed = await writeAs(at.context, basisOf(person), [rename]);
    return accountWith(at.context, isRenamed ? "passkey-renamed" : "passkey-not-renamed");
  });
}

/**
 * **Removes an application's access.** If there was none, nothing is recorded. Cost: 1 D1 call, and for each of its clients that of
 * endings.ts.
 */
export function removeConsent(at: PageRequest): Promise<Response> {
  const { context, isolate } = at;
  return asPersonPosting(at, async ({ user: { sub } }, form) => {
    const application = await findApplication(at, sub, form.require("client_id"));
    for (const clientId of application?.clientIds ?? []) {
      const withdrawn = { action: "consent.withdrawn", target: sub, clientId, actor: sub };
      const event = recordAdminEvent(context, withdrawn, { ifFound: hasAccess });
      await withdrawConsent(context, isolate, { sub, clientId, by: "consent_withdrawn" }, event);
    }
    wakeAuditLog(context);
    return accountWith(context, "access-removed");
  });
}

/** **Ends one session of the person**, of this or another browser. */
export function removeSession(at: PageRequest): Promise<Response> {
  const { context, isolate } = at;
  return asPersonPosting(at, async (person, form) => {
    const { session, sessionId } = person;
    const { sub } = person.user;
    const sid = form.require("sid");
    if (sid === session.sid) {
      const { all } = await readAccounts(context, at.request);
      const returnTo = all.length > 1 ? pathToChoose(accountPages.you) : "/logout";
      return signOut({ ...at, sessionIds: [sessionId] }, { returnTo, uiLocales: [] });
    }
    if ((await findUserSession(context.env.DB, sub, sid, context.arrivedAtMs)) !== undefined) {
      await endSession(context, isolate, { sid }, "signed out from another device");
    }
    return accountWith(context, "session-ended");
  });
}

/** **Ends all other sessions of the person.** Offline access remains: it ends when the consent is removed. */
export function removeOtherSessions(at: PageRequest): Promise<Response> {
  return asPersonPosting(at, async ({ session }) => {
    await endOtherSessions(at, session, "signed out everywhere else");
    return accountWith(at.context, "others-ended");
  });
}
