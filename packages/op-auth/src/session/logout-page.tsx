import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import type { OAuthError } from "@edge-op/protocol/oauth/errors";
import type { User } from "@edge-op/shared/users/user";
import type { AuthPageFrame } from "../pages/frame.ts";
import type { AuthTranslator } from "../pages/messages.ts";

export interface LogoutView {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The name of the client that requested the logout, if it is known. */
  readonly client: string | undefined;
  readonly fault: OAuthError | undefined;
  /** Whether an account is active; otherwise the page asks about all. */
  readonly hasActive: boolean;
  readonly hasOthers: boolean;
  /** Whose the active account is, if there are several. */
  readonly user: User | undefined;
}

/** **What is wrong with the request of the application**, for the person and for its developer. The person is signed out all the same. */
export function LogoutFault({ t, fault }: { readonly t: AuthTranslator; readonly fault: OAuthError | undefined }) {
  if (fault === undefined) return null;
  return (
    <div class="note" id="fault">
      <p>{t("logout.fault")}</p>
      <p class="muted" id="error-description" lang="en">
        {fault.description}
      </p>
    </div>
  );
}

/** **Confirms a logout** whose request has no hint for this session. */
export function LogoutPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: LogoutView }) {
  const { branding } = frame;
  const { t } = frame;
  return (
    <Layout {...frame} title={t("logout.title")} account>
      <div class="head">
        <h1>{t("logout.title")}</h1>
        {view.client && <p>{t("logout.asked", { client: view.client })}</p>}
        <p class="muted">{t("logout.text", { provider: branding.name })}</p>
        {view.user && <Person name={displayName(view.user)} text={accountName(view.user)} />}
      </div>
      <LogoutFault t={t} fault={view.fault} />
      <form method="post" action={view.action} class="actions">
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {view.hasActive && (
          <button type="submit" name="decision" value="leave" id="sign-out">
            {t("logout.submit")}
          </button>
        )}
        {view.hasOthers && (
          <button
            type="submit"
            name="decision"
            value="all"
            class={view.hasActive ? "quiet" : undefined}
            id="sign-out-all"
          >
            {t("logout.all")}
          </button>
        )}
        <button type="submit" name="decision" value="stay" class="quiet" id="stay">
          {t("logout.stay")}
        </button>
      </form>
    </Layout>
  );
}
