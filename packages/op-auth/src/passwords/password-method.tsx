import { createTranslator } from "@edge-op/pages/translator";
import { acrValuesOf } from "@edge-op/protocol/oauth/authentication-context";
import { HiddenFields, invalidIf } from "../pages/form-parts.tsx";
import type { SignInMethod, SignInMethodView } from "../step/sign-in-method.ts";
import { leaveByDomain } from "../upstream/discovery.ts";
import { passwordSignInMessages } from "./messages.ts";
import { ShowPassword } from "./new-password.tsx";
import { verifyPasswordSignIn } from "./verify-password-sign-in.ts";

/** **Sign-in by username and password.** The username field also offers passkeys by autofill. */
export const passwordMethod: SignInMethod = {
  name: "password",
  proofMethods: ["password", "temporaryPassword"],
  acrValues: acrValuesOf("password"),
  field: "password",
  scripts: [],
  placement: "fields",
  texts: passwordSignInMessages,
  async render({ context, isolate }, view) {
    const active = await isolate.upstreams.list(context);
    return <PasswordForm {...view} isRequired={active.every(({ document }) => document.discovery === "off")} />;
  },
  async verify(at, form) {
    const typed = form.get("username") ?? "";
    const isOffered = (form.get("password") ?? "") === "";
    return (await leaveByDomain(at, form, { typed, isOffered })) ?? verifyPasswordSignIn(at, form);
  },
};

/** `isRequired`: no address leads to an upstream provider, for which a person types no password. */
function PasswordForm(props: SignInMethodView & { readonly isRequired: boolean }) {
  const { language, form, account, username: typed, isRefused, isRequired } = props;
  const t = createTranslator(passwordSignInMessages, language);
  const username = account?.username ?? typed;
  const invalid = invalidIf(isRefused);
  return (
    <form method="post" action={form.action}>
      <HiddenFields fields={form.fields} />
      <label for="username">{t("username")}</label>
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
      <label for="password">{t("password")}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required={isRequired}
        maxlength={1024}
        autofocus={Boolean(username)}
        {...invalid}
      />
      <ShowPassword language={language} />
      <div class="actions">
        <button type="submit" id="sign-in">
          {t("submit")}
        </button>
      </div>
    </form>
  );
}
