import { Layout, type PageFrame } from "./layout.tsx";
import { Person } from "./person.tsx";

/** **The start page of the origin**: what this site is, and the way to one's account. */
export function HomePage({ frame, user }: { readonly frame: PageFrame; readonly user: string | undefined }) {
  const { t, deployment } = frame;
  return (
    <Layout {...frame} title={t(user === undefined ? "signIn.title" : "link.account")}>
      <div class="head">
        <h1>{deployment.name}</h1>
        <p class="muted">{t("home.text", { provider: deployment.name })}</p>
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
