import { acrValuesOf } from "@edge-op/protocol/oauth/authentication-context";
import { HiddenFields, invalidIf } from "../pages/form-parts.tsx";
import type { SignInMethod, SignInMethodView } from "../step/sign-in-method.ts";
import { leaveByDomain } from "../upstream/discovery.ts";
import { ShowPassword } from "./new-password.tsx";
import { readUsername, verifyPasswordSignIn } from "./verify-password-sign-in.ts";

/** **Sign-in by username and password.** The username field also offers passkeys by autofill. */
export const passwordMethod: SignInMethod = {
  name: "password",
  proofMethods: ["password", "temporaryPassword"],
  acrValues: acrValuesOf("password"),
  // An empty field is none, and an address that leads to a provider needs no password.
  field: "username",
  scripts: [],
  placement: "fields",
  async render({ context, isolate }, view) {
    const active = await isolate.upstreams.list(context);
    return <PasswordForm {...view} isRequired={active.every(({ document }) => document.discovery === "off")} />;
  },
  async verify(at, form) {
    const typed = readUsername(form);
    const isOffered = (form.get("password") ?? "") === "";
    return (await leaveByDomain(at, { typed, isOffered })) ?? verifyPasswordSignIn(at, form);
  },
};

/** `isRequired`: no address leads to an upstream provider, for which a person types no password. */
export function PasswordForm(props: SignInMethodView & { readonly isRequired: boolean }) {
  const { t, form, formId, forgotten, account, username: typed, isRefused, isRequired } = props;
  const username = account?.username ?? typed;
  const invalid = invalidIf(isRefused);
  return (
    <form method="post" action={form.action} id={formId} class="credentials">
      <HiddenFields fields={form.fields} />
      <label for="username">{t("signIn.username")}</label>
      <input
        id="username"
        name="username"
        type="text"
        inputmode="email"
        dir="auto"
        enterkeyhint="next"
        autocomplete="username webauthn"
        autocapitalize="none"
        autocorrect="off"
        spellcheck={false}
        required
        maxlength={256}
        value={username ?? ""}
        autofocus={!username}
        readonly={account !== undefined}
        {...invalid}
      />
      <label for="password">{t("signIn.password")}</label>
      <div class="secret-field">
        <input
          id="password"
          name="password"
          type="password"
          enterkeyhint="go"
          autocomplete="current-password"
          required={isRequired}
          maxlength={1024}
          autofocus={Boolean(username)}
          {...invalid}
        />
        <ShowPassword t={t} />
      </div>
      <button type="submit" id="sign-in">
        {t("signIn.submit")}
      </button>
      {/* After the button that Enter presses; the style sheet puts it beside the label. */}
      {forgotten}
    </form>
  );
}
