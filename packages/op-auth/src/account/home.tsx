import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { respondPage } from "@edge-op/pages/respond-page";
import { type AuthPageFrame, frameOf, type PageRequest } from "../pages/frame.ts";
import { decidePerson } from "../session/signed-in-person.ts";

/** **`GET /`** for browsers; `op` responds 404 to other clients. Cost: 0; with a session cookie 1 object call. */
export async function showHome(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const person = await decidePerson(at);
  const user = person && displayName(person.user);
  const headers = { Vary: "Accept" };
  return respondPage(<HomePage frame={await frameOf(context, request)} user={user} />, { headers });
}

/** **The start page**: the provider's name and a link to the account page. */
function HomePage({ frame, user }: { readonly frame: AuthPageFrame; readonly user: string | undefined }) {
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
