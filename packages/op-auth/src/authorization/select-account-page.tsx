import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import type { AuthPageFrame } from "../pages/frame.ts";

export interface SelectAccountView {
  readonly action: string;
  readonly formToken: string;
  readonly client: { readonly name: string; readonly logoUri: string | undefined };
  /** Display name of the signed-in person. */
  readonly user: string;
}

/** **The account selection page**: the signed-in account or another. */
export function SelectAccountPage({
  frame,
  view,
}: {
  readonly frame: AuthPageFrame;
  readonly view: SelectAccountView;
}) {
  const { t } = frame;
  return (
    <Layout {...frame} title={t("select.title")} account>
      <div class="head">
        <ClientMark name={view.client.name} logoUri={view.client.logoUri} />
        <h1>{t("select.title")}</h1>
        <p class="muted">{t("select.to", { client: view.client.name })}</p>
      </div>
      <form method="post" action={view.action} class="actions">
        <input type="hidden" name="form_token" value={view.formToken} />
        <button type="submit" name="account" value="current" id="current-account">
          {t("select.continue", { user: view.user })}
        </button>
        <button type="submit" name="account" value="other" class="quiet" id="other-account">
          {t("select.other")}
        </button>
      </form>
    </Layout>
  );
}
