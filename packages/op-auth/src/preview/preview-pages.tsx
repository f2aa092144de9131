/** **Pages and mails with invented content**, to see a branding on them. They are the components that people see, and call no store. */

import { personalDates } from "@edge-op/pages/describe-values";
import { renderAccountMail } from "@edge-op/pages/mail/codes";
import { ErrorPage, MessagePage } from "@edge-op/pages/message-pages";
import type { Settings } from "@edge-op/shared/config/settings";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import { AccountLayout } from "../account/account-layout.tsx";
import { AddressSection } from "../account/address-section.tsx";
import { NameSection } from "../account/profile-sections.tsx";
import { CodePage } from "../addresses/code-page.tsx";
import { ConsentPage } from "../consent/consent-page.tsx";
import { EnterCodePage } from "../device/device-pages.tsx";
import { passkeyMethod } from "../factors/passkey-method.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { PasswordForm, passwordMethod } from "../passwords/password-method.tsx";
import { LogoutPage } from "../session/logout-page.tsx";
import { CreateAccountPage } from "../sign-in/create-account-page.tsx";
import { SignInPage, type SignInView } from "../sign-in/sign-in-page.tsx";
import { NewcomerPage } from "../sign-in/sign-up-page.tsx";

interface PreviewCall {
  readonly frame: AuthPageFrame;
  readonly settings: Settings;
  readonly nowMs: number;
}

type Rendered = { toString(): string | Promise<string> };
/** A page, or the HTML of a mail. */
type Preview = (call: PreviewCall) => Rendered | Promise<string>;

const address = "ann@example.com";
const user: User = {
  ...{ sub: "ann", username: "ann", status: "active", cutOffs: [] },
  claims: { name: "Ann Example", email: address, email_verified: true },
};
const client = { name: "Photos", logoUri: undefined, policyUri: undefined, tosUri: undefined };
const form = { action: "/flow/preview", fields: { f: "", form_token: "" } };
const asker = { device: "Firefox · Windows", city: "Köln", country: "DE", timeZone: "Europe/Berlin" };

/** Without a script, the button of a passkey is shown. */
const shownPasskey = { ...passkeyMethod, scripts: [] };

function signIn({ frame, settings }: PreviewCall): Rendered {
  const { t } = frame;
  const forgotten = (
    <button type="submit" class="link" id="forgot">
      {t("signIn.forgot")}
    </button>
  );
  const given = { t, form, account: undefined, username: undefined, isRefused: false, formId: "credentials" };
  const fields: Child = <PasswordForm {...given} forgotten={forgotten} isAlternative={false} isRequired />;
  const button: Child = (
    <button type="submit" class="quiet" form="credentials">
      {t("passkey.submit")}
    </button>
  );
  const view: SignInView = {
    ...{ form, client, account: undefined, reason: undefined, needsTwoFactors: false, problem: undefined },
    ...{ link: undefined, discovered: undefined, required: undefined, methods: [passwordMethod], again: "" },
    parts: [
      { method: passwordMethod, element: fields },
      { method: shownPasskey, element: button },
    ],
    ...{ areProvidersFirst: false, canSignUp: settings.signUp === "open" },
  };
  return <SignInPage frame={frame} view={view} />;
}

function signUp({ frame }: PreviewCall): Rendered {
  const view = { form, client, name: "", address: "", note: undefined, isInvalid: false, isNameInvalid: false };
  return <NewcomerPage frame={frame} view={view} />;
}

function code({ frame, nowMs }: PreviewCall): Rendered {
  const mailed = { purpose: "sign-up", address, sentAtMs: nowMs, attempts: "" } as const;
  return <CodePage frame={frame} view={{ form, mailed, problem: undefined, canCancel: true, nowMs, restart: "" }} />;
}

function method({ frame, settings }: PreviewCall): Rendered {
  const newcomer = { name: "Ann Example", address: { key: address, address }, sub: "ann" };
  const view = {
    ...{ form, newcomer, passkeyOptions: undefined, hasPassword: true, min: settings.passwordMin },
    ...{ terms: undefined, client, problem: undefined },
  };
  return <CreateAccountPage frame={frame} view={view} />;
}

function consent({ frame }: PreviewCall): Rendered {
  const asked = ["openid", "profile", "email"];
  const view = {
    form,
    client,
    organization: undefined,
    source: undefined,
    user,
    asked,
    resources: [],
    attributes: [],
    details: [],
  };
  return <ConsentPage frame={frame} view={view} />;
}

function account({ frame, nowMs }: PreviewCall): Rendered {
  const { t } = frame;
  const dates = personalDates({ cf: undefined }, t.language, user);
  const addresses = [{ sub: user.sub, key: address, address, verifiedAtMs: nowMs, heldUntilMs: undefined }];
  return (
    <AccountLayout frame={frame} area="you" user={user} notice={undefined}>
      <NameSection t={t} user={user} formToken="" canChange={false} />
      <AddressSection t={t} view={{ user, addresses, canChangeAddress: true, dates }} />
    </AccountLayout>
  );
}

function error({ frame }: PreviewCall): Rendered {
  const view = {
    text: frame.t("error.back"),
    code: "invalid_request",
    description: undefined,
    reference: "01JD2K7Q9XW3",
  };
  return <ErrorPage frame={frame} view={view} />;
}

function notFound({ frame }: PreviewCall): Rendered {
  const { t } = frame;
  return <MessagePage frame={frame} title={t("notFound.title")} text={t("notFound.text")} sign="ended" />;
}

const logout: Preview = ({ frame }) => (
  <LogoutPage
    frame={frame}
    view={{
      action: "",
      fields: {},
      client: client.name,
      fault: undefined,
      hasActive: true,
      hasOthers: false,
      user: undefined,
    }}
  />
);
const device: Preview = ({ frame }) => <EnterCodePage frame={frame} view={{ typed: undefined, problem: undefined }} />;

function mailOf(mail: Parameters<typeof renderAccountMail>[0]): Preview {
  return async ({ frame: { branding, t }, settings: { issuer, deletionGraceDays }, nowMs }) => {
    const sent = { ...mail, atMs: nowMs, locale: t.language, asker };
    return (await renderAccountMail(sent, { issuer, branding, deletionGraceDays })).html;
  };
}

/** By the name in the path. */
export const previews: Readonly<Record<string, Preview>> = {
  ...{ "sign-in": signIn, "sign-up": signUp, code, method, consent, account, device, logout, error },
  "not-found": notFound,
  "mail-code": mailOf({ kind: "sign-in", code: "01234567", atMs: 0 }),
  "mail-notice": mailOf({ kind: "passkey-added", atMs: 0 }),
};
