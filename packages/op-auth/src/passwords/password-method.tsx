import { acrValuesOf } from "@edge-op/protocol/oauth/authentication-context";
import { HiddenFields, invalidIf, WayButton } from "../pages/form-parts.tsx";
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
    const mayLeave = active.some(({ document }) => document.discovery !== "off");
    const leaves = view.asked === "password" ? view.discovered !== undefined : mayLeave;
    return <PasswordForm {...view} isRequired={!leaves} />;
  },
  async verify(at, form) {
    const typed = readUsername(form);
    const isOffered = (form.get("password") ?? "") === "";
    return (await leaveByDomain(at, { typed, isOffered })) ?? verifyPasswordSignIn(at, form);
  },
};

/** `isRequired`: no address (the one that is known) leads to an upstream provider, for which a person types no password. */
export function PasswordForm(props: SignInMethodView & { readonly isRequired: boolean }) {
  const { t, form, formId, forgotten, account, asked, username: typed, isRefused, isRequired } = props;
  const username = account?.username ?? typed;
  const invalid = invalidIf(isRefused);
  const isFixed = account !== undefined || asked === "password";
  return (
    <form method="post" action={form.action} id={formId} class="credentials">
      <HiddenFields fields={form.fields} />
      {asked === "name" && <input type="hidden" name="ask" value="password" />}
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
        autofocus={!username || asked === "name"}
        readonly={isFixed}
        {...invalid}
      />
      {asked !== "name" && (
        <>
          <label for="password">{t("signIn.password")}</label>
          <div class="secret-field">
            <input
              id="password"
              name="password"
              type="password"
              enterkeyhint="go"
              autocomplete={isFixed ? "current-password webauthn" : "current-password"}
              required={isRequired}
              maxlength={1024}
              autofocus={Boolean(username)}
              {...invalid}
            />
            <ShowPassword t={t} />
          </div>
        </>
      )}
      <button type="submit" id="sign-in">
        {t(asked === "name" ? "flow.continue" : "signIn.submit")}
      </button>
      {/* After the button that Enter presses; the style sheet puts them beside the label and into the field. */}
      {forgotten}
      {asked === "password" && (
        <WayButton way={{ name: "rename", value: "1", id: "rename", text: t("account.change") }} />
      )}
    </form>
  );
}
