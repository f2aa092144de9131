import { formToken } from "@edge-op/pages/form-token";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { findUserSession } from "@edge-op/shared/sessions/user-sessions";
import { listPasskeys } from "@edge-op/shared/users/credentials";
import { findFactors, listFactors } from "@edge-op/shared/users/factors";
import { type AuthPageFrame, type PageRequest, personFrame } from "../pages/frame.ts";
import type { SignedInPerson } from "../session/signed-in-person.ts";
import { signInFor } from "../step/sealed-flow.ts";
import { mfaAcr } from "../step/second-factor.ts";
import { pageOf } from "./account-areas.ts";
import { ConfirmPage, type ConfirmView } from "./account-parts.tsx";
import { findApplication } from "./applications.ts";
import { deletionDate } from "./delete-account.tsx";
import { mayChangeFactors, mayRemovePasskey, refuseBelowLevel, signInAtLevel } from "./factor-level.ts";
import { findOwnIdentity } from "./identities.tsx";
import { accountForms, asPerson } from "./require-person.ts";

/** Returns the content of the page, `undefined` if there is nothing to remove, or a response if the person must sign in first. */
type Describe = (
  at: PageRequest,
  person: SignedInPerson,
  frame: AuthPageFrame,
) => Promise<Omit<ConfirmView, "fields"> | Response | undefined>;

/**
 * **Pages that confirm a removal**, without a script: the GET changes nothing, the form on the page removes. If the item does not exist, the
 * response is a redirect to the account page. Cost: 1 object call and 1 D1 call.
 */
export function confirmation(field: string | undefined, describe: Describe): (at: PageRequest) => Promise<Response> {
  return (at) =>
    asPerson(at, async (person) => {
      const frame = await personFrame(at, person.user);
      const view = await describe(at, person, frame);
      if (view === undefined) return redirect(pageOf(new URL(at.request.url).pathname));
      if (view instanceof Response) return view;
      const token = { form_token: await formToken(at.context, accountForms, person.sessionId) };
      const fields = field === undefined ? token : { ...token, [field]: named(at, field) };
      return respondPage(<ConfirmPage frame={frame} view={{ ...view, fields }} />);
    });
}

export function named({ request }: PageRequest, field: string): string {
  return new URL(request.url).searchParams.get(field) ?? "";
}

export const confirmRemoveConsent = confirmation("client_id", async (at, { user }, { t }) => {
  const application = await findApplication(at, user.sub, named(at, "client_id"));
  return (
    application && {
      title: t("confirm.consent"),
      text: t("confirm.consentText", { client: application.name }),
      action: "/account/consents",
      submit: t("account.revoke"),
    }
  );
});

export const confirmRemovePasskey = confirmation("credential_id", async (at, person, { t }) => {
  const { DB } = at.context.env;
  const credentialId = named(at, "credential_id");
  const { sub } = person.user;
  const [factors, passkeys] = await Promise.all([findFactors(DB, sub), listPasskeys(DB, sub)]);
  const path = `/account/passkeys/remove?${new URLSearchParams({ credential_id: credentialId })}`;
  if (factors !== undefined && !mayRemovePasskey(at, person, factors)) {
    return signInFor(at, path, factors.totp ? { requiredAcr: mfaAcr } : {});
  }
  const passkey = passkeys.find((each) => each.credentialId === credentialId);
  return (
    passkey && {
      title: t("confirm.passkey"),
      text: t("confirm.passkeyText", { passkey: passkey.name }),
      action: "/account/passkeys/remove",
      submit: t("account.removePasskey"),
    }
  );
});

export const confirmRemoveFactor = confirmation("factor_id", async (at, person, { t }) => {
  const { DB } = at.context.env;
  const id = named(at, "factor_id");
  const { sub } = person.user;
  const [factors, listed] = await Promise.all([findFactors(DB, sub), listFactors(DB, sub)]);
  const factor = listed.find((each) => each.id === id && each.kind !== "passkey");
  if (factors === undefined || factor === undefined) return undefined;
  const path = `/account/factors/remove?${new URLSearchParams({ factor_id: id })}`;
  if (!mayChangeFactors(at, person, factors)) return signInAtLevel(at, path, factors);
  const isApp = factor.kind === "totp";
  return {
    title: t(isApp ? "factor.removeApp" : "factor.removeCodes"),
    text: t(isApp ? "factor.removeAppText" : "factor.removeCodesText"),
    action: "/account/factors/remove",
    submit: t("factor.remove"),
  };
});

export const confirmRemoveIdentity = confirmation("identity", async (at, person, { t }) => {
  const { context, isolate } = at;
  const id = named(at, "identity");
  const [factors, identity, upstreams] = await Promise.all([
    findFactors(context.env.DB, person.user.sub),
    findOwnIdentity(at, person, id),
    isolate.upstreams.list(context),
  ]);
  if (factors === undefined || identity === undefined) return undefined;
  const path = `/account/identities/remove?${new URLSearchParams({ identity: id })}`;
  if (!mayChangeFactors(at, person, factors)) return signInAtLevel(at, path, factors);
  const { upstreamId, label } = identity;
  const provider = upstreams.find((each) => each.upstreamId === upstreamId)?.document.name ?? upstreamId;
  return {
    title: t("upstream.disconnectTitle"),
    text: t("upstream.disconnectText", { provider, label }),
    action: "/account/identities/remove",
    submit: t("upstream.disconnect"),
  };
});

export const confirmEndSession = confirmation("sid", async (at, person, { t, branding }) => {
  const { sub } = person.user;
  const session = await findUserSession(at.context.env.DB, sub, named(at, "sid"), at.context.arrivedAtMs);
  const which = session?.sid === person.session.sid ? "thisSession" : "session";
  return (
    session && {
      title: t(`confirm.${which}`),
      text: t(`confirm.${which}Text`, { device: session.device, provider: branding.name }),
      action: "/account/sessions",
      submit: t("account.endSession"),
    }
  );
});

/** Cost: 1 object call and 1 D1 call. */
export const confirmDownload = confirmation(undefined, async (at, person, { t }) => {
  const refused = await refuseBelowLevel(at, person, "/account/data");
  if (refused !== undefined) return refused;
  return {
    title: t("data.download"),
    text: t("data.downloadText"),
    action: "/account/data",
    submit: t("data.downloadSubmit"),
    effect: "download",
  };
});

export const confirmDeletion = confirmation(undefined, async (at, person, { t }) => {
  const { deletionGraceDays } = at.context.settings;
  if (deletionGraceDays === 0) return undefined;
  const refused = await refuseBelowLevel(at, person, "/account/delete");
  if (refused !== undefined) return refused;
  return {
    title: t("data.remove"),
    text: t("data.removeText", { date: deletionDate(at, t.language, person.user) }),
    action: "/account/delete",
    submit: t("data.removeSubmit"),
  };
});

export const confirmEndOthers = confirmation(undefined, async (_, __, { t, branding }) => ({
  title: t("confirm.others"),
  text: t("confirm.othersText", { provider: branding.name }),
  action: "/account/sessions/end-others",
  submit: t("account.endOthers"),
}));
