import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { Person } from "@edge-op/pages/person";
import type { AuthPageFrame } from "../pages/frame.ts";

import { passkeyScript } from "./passkey-script.ts";
export interface SignInView {
  readonly action: string;
  readonly formToken: string;
  /** Absent when someone signs in to their account pages. */
  readonly client: { readonly name: string; readonly logoUri: string | undefined } | undefined;
  /** Who is signed in and is to confirm it; absent for any other sign-in. */
  readonly account: { readonly name: string; readonly username: string } | undefined;
  readonly username: string | undefined;
  readonly problem:
    | { readonly kind: "wrong" | "wrongPasskey" | "passkeyNeeded" }
    | { readonly kind: "throttled"; readonly seconds: number }
    | undefined;
  /** WebAuthn request options, JSON; absent when the account has no passkey. */
  readonly passkeyOptions: string | undefined;
  readonly passwordAllowed: boolean;
}

/** **Sign in**: by password, or by passkey from the field's autofill or the button, which a script brings out. */
export function SignInPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: SignInView }) {
  const { t } = frame;
  const { account, client, passkeyOptions, problem } = view;
  const title = t(account ? "signIn.again" : "signIn.title");
  return (
    <Layout {...frame} title={title} scripts={[passkeyScript]}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{title}</h1>
        <p class="muted">{describePurpose(frame, view)}</p>
        {account && <Person name={account.name} text={account.name} />}
      </div>
      {problem && (
        <p class="note bad" role="alert" id="problem">
          {describe(frame, view)}
        </p>
      )}
      <p class="note bad" role="alert" data-passkey-failure hidden>
        {t("signIn.wrongPasskey")}
      </p>
      {view.passwordAllowed && <PasswordForm frame={frame} view={view} />}
      <div class="actions">
        {passkeyOptions && view.passwordAllowed && (
          <p class="or" data-with-passkey hidden>
            {t("signIn.or")}
          </p>
        )}
        {passkeyOptions && (
          <form method="post" action={view.action} data-passkey="get" data-options={passkeyOptions} hidden>
            <input type="hidden" name="form_token" value={view.formToken} />
            <input type="hidden" name="credential" value="" />
            <button type="submit" class={view.passwordAllowed ? "quiet" : ""} id="passkey">
              {t("signIn.passkey")}
            </button>
          </form>
        )}
        <form method="post" action={view.action} class="plain-actions">
          <input type="hidden" name="form_token" value={view.formToken} />
          {account && (
            <button type="submit" class="plain" name="account" value="other" id="other-account">
              {t("signIn.other")}
            </button>
          )}
          {(client || account) && (
            <button type="submit" class="plain" name="cancel" value="1" id="cancel">
              {t("signIn.cancel")}
            </button>
          )}
        </form>
      </div>
    </Layout>
  );
}

function PasswordForm({ frame: { t }, view }: { readonly frame: AuthPageFrame; readonly view: SignInView }) {
  const { account } = view;
  const username = account?.username ?? view.username;
  const isWrong = view.problem?.kind === "wrong";
  const invalid = isWrong ? { "aria-invalid": "true" as const, "aria-describedby": "problem" } : {};
  return (
    <form method="post" action={view.action}>
      <input type="hidden" name="form_token" value={view.formToken} />
      <label for="username">{t("signIn.username")}</label>
      <input
        id="username"
        name="username"
        type="text"
        autocomplete="username webauthn"
        autocapitalize="none"
        spellcheck={false}
        required
        maxlength={256}
        value={username ?? ""}
        autofocus={!username}
        readonly={account !== undefined}
        {...invalid}
      />
      <label for="password">{t("signIn.password")}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        maxlength={1024}
        autofocus={Boolean(username)}
        {...invalid}
      />
      <div class="actions">
        <button type="submit" id="sign-in">
          {t("signIn.submit")}
        </button>
      </div>
    </form>
  );
}

function describePurpose({ t, branding }: AuthPageFrame, { account, client }: SignInView): string {
  if (account === undefined) {
    return client ? t("signIn.to", { client: client.name }) : t("signIn.toProvider", { provider: branding.name });
  }
  return client ? t("signIn.againText", { client: client.name }) : t("signIn.againAccount");
}

function describe({ t }: AuthPageFrame, { account, problem, client }: SignInView): string {
  switch (problem?.kind) {
    case "throttled":
      return t("signIn.throttled", { seconds: String(problem.seconds) });
    case "wrongPasskey":
      return t("signIn.wrongPasskey");
    case "passkeyNeeded":
      return t("signIn.passkeyNeeded", { client: client?.name ?? "" });
    default:
      return t(account ? "signIn.wrongPassword" : "signIn.wrong");
  }
}
