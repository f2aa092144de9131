import { identifyBrowser } from "@edge-op/pages/cookies";
import { formToken, requireFormToken } from "@edge-op/pages/form-token";
import { ownLocation } from "@edge-op/pages/language-switch";
import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { readForm } from "@edge-op/shared/http/read-form";
import { frameOf, type PageRequest } from "../pages/frame.ts";
import { AccountList, accountsForm, choosePath, OtherAccountForm, pathToChoose } from "../session/account-list.tsx";
import { accountCookies, readAccounts, withActive } from "../session/browser-accounts.ts";
import { signOut } from "../session/logout-endpoint.tsx";
import { decideAccounts } from "../session/signed-in-person.ts";
import { signInFor } from "../step/sealed-flow.ts";

/**
 * **`GET /account/choose`**: the accounts of this browser, for a page of this provider. Cost: 1 object call for each, at the same time.
 */
export async function showChooseAccount(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const to = ownLocation(new URL(request.url).searchParams.get("to") ?? "/account");
  const people = await decideAccounts(at);
  if (people.length === 0) return signInFor(at, to);
  const browser = await identifyBrowser(context, request);
  const { active } = await readAccounts(context, request);
  const frame = await frameOf(context, request);
  const { t } = frame;
  const form = { action: choosePath, fields: { form_token: await formToken(context, accountsForm, browser.id), to } };
  const page = (
    <Layout {...frame} title={t("select.title")} account={active !== undefined}>
      <div class="head">
        <h1>{t("select.title")}</h1>
      </div>
      <AccountList frame={frame} people={people} activeId={active?.id} choosing={form} signingOut={form} />
      <OtherAccountForm frame={frame} form={form} />
    </Layout>
  );
  return respondPage(page, { cookies: [browser.setCookie] });
}

/**
 * **`POST /account/choose`**: makes an account the active one, signs it out, or adds one, and goes on to `to`. The form token is bound to the
 * browser: another site can neither switch the account nor sign it out. An account that is not in the list changes nothing. Cost: 1 object call for
 * each account; to sign out, those of endings.ts.
 */
export async function chooseAccountOf(at: PageRequest): Promise<Response> {
  const { context, request } = at;
  const form = readForm(request);
  const browser = await identifyBrowser(context, request);
  await requireFormToken(context, accountsForm, browser.id, form.get("form_token"));
  const to = ownLocation(form.get("to") ?? "/account");
  const sub = form.get("sign-out") ?? form.get("choose");
  if (sub === undefined) return signInFor(at, to, { otherAccount: true });
  const people = await decideAccounts(at);
  const person = people.find(({ user }) => user.sub === sub);
  if (person === undefined) return redirect(pathToChoose(to));
  if (form.get("sign-out") !== undefined) {
    const isFlow = to.startsWith("/flow/");
    return signOut(
      { ...at, sessionIds: [person.sessionId] },
      { returnTo: isFlow ? to : pathToChoose(to), uiLocales: [] },
    );
  }
  const all = people.map((each) => ({ id: each.sessionId, sub: each.user.sub }));
  const accounts = withActive({ ...(await readAccounts(context, request)), all }, { id: person.sessionId, sub });
  return redirect(to, await accountCookies(context, request, accounts));
}
