import type { Script } from "@edge-op/pages/assets";
import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import type { User } from "@edge-op/shared/users/user";
import type { Child } from "hono/jsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { pathToChoose } from "../session/account-list.tsx";
import { type AccountArea, accountPages } from "./account-areas.ts";
import { type AccountNotice, accountNotices } from "./account-notices.ts";

interface Props {
  readonly frame: AuthPageFrame;
  readonly area: AccountArea;
  readonly user: User;
  readonly notice?: AccountNotice | undefined;
  /** About a recovery by mail alone (stop-recovery.tsx). */
  readonly recovery?: Child | undefined;
  readonly scripts?: readonly Script[];
  readonly children?: Child;
}

/** **The layout of the account pages**: the menu, which marks the open one, who is signed in, and what was done last. */
export function AccountLayout({ frame, area, user, notice, recovery, scripts = [], children }: Props) {
  const { t } = frame;
  const name = displayName(user);
  const shown = notice && accountNotices[notice];
  const title = t(area === "you" ? "area.youTitle" : `area.${area}`);
  const areas = Object.entries(accountPages) as [AccountArea, string][];
  const nav = (
    <nav class="sections" aria-label={t("account.title")}>
      {areas.map(([each, href]) => (
        <a href={href} aria-current={each === area ? "page" : undefined}>
          {t(`area.${each}`)}
        </a>
      ))}
    </nav>
  );
  return (
    <Layout {...frame} title={title} scripts={scripts} nav={nav} wide>
      <div class="head">
        <h1>{title}</h1>
        <Person name={name} text={t("account.signedInAs", { user: name })} />
        <a href={pathToChoose(frame.location ?? accountPages[area])} class="switch small" id="switch-account">
          {t("account.switch")}
        </a>
      </div>
      {shown && (
        <p class={shown.isGood ? "note good" : "note bad"} role={shown.isGood ? "status" : "alert"} data-notice>
          {t(shown.text)}
        </p>
      )}
      {notice !== "recovery-stopped" && recovery}
      {children}
      <p class="links">
        <a href="/logout" id="sign-out">
          {t("home.signOut")}
        </a>
      </p>
    </Layout>
  );
}
