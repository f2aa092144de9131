import { Layout } from "@edge-op/pages/layout";
import { Person } from "@edge-op/pages/person";
import type { AuthPageFrame } from "./frame.ts";

/** **The start page**: the provider's name and a link to the account page. */
export function HomePage({ frame, user }: { readonly frame: AuthPageFrame; readonly user: string | undefined }) {
  const { t, branding } = frame;
  return (
    <Layout {...frame} title={t(user === undefined ? "signIn.title" : "link.account")}>
      <div class="head">
        <h1>{branding.name}</h1>
        <p class="muted">{t("home.text", { provider: branding.name })}</p>
        {user !== undefined && <Person name={user} text={t("account.signedInAs", { user })} />}
      </div>
      <div class="actions">
        <a class="button" href="/account" id="account">
          {t(user === undefined ? "home.signIn" : "home.account")}
        </a>
        {user !== undefined && (
          <a class="button quiet" href="/logout" id="sign-out">
            {t("home.signOut")}
          </a>
        )}
      </div>
    </Layout>
  );
}
