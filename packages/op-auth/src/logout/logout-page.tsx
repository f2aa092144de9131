import { Layout } from "@edge-op/pages/layout";
import { createTranslator } from "@edge-op/pages/translator";
import type { AuthPageFrame } from "../pages/frame.ts";
import { logoutMessages } from "./messages.ts";

export interface LogoutView {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The name of the client that requested the logout, if it is known. */
  readonly client: string | undefined;
}

/** **Confirms a logout** whose request has no hint for this session. */
export function LogoutPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: LogoutView }) {
  const { branding } = frame;
  const t = createTranslator(logoutMessages, frame.t.language);
  return (
    <Layout {...frame} title={t("logout.title")} account>
      <div class="head">
        <h1>{t("logout.title")}</h1>
        {view.client && <p>{t("logout.asked", { client: view.client })}</p>}
        <p class="muted">{t("logout.text", { provider: branding.name })}</p>
      </div>
      <form method="post" action={view.action} class="actions">
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" name="decision" value="leave" id="sign-out">
          {t("logout.submit")}
        </button>
        <button type="submit" name="decision" value="stay" class="quiet" id="stay">
          {t("logout.stay")}
        </button>
      </form>
    </Layout>
  );
}
