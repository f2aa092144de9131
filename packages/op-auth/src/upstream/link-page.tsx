import { Layout } from "@edge-op/pages/layout";
import { createTranslator } from "@edge-op/pages/translator";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { upstreamMessages } from "./messages.ts";
import type { PendingLink } from "./pending-link.ts";

interface Props {
  readonly frame: AuthPageFrame;
  readonly link: PendingLink;
  /** The display name of the account's person. */
  readonly user: string;
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
}

/** **Asks whether an identity elsewhere is to be connected** with the account, and names both. */
export function LinkPage({ frame, link: { provider, label }, user, form }: Props) {
  const t = createTranslator(upstreamMessages, frame.t.language);
  return (
    <Layout {...frame} title={t("linkTitle")}>
      <div class="head">
        <h1>{t("linkTitle")}</h1>
        <p class="muted">{t("linkText")}</p>
      </div>
      <ul class="scopes">
        <li>{t("linkAccount", { user })}</li>
        <li>{t("linkIdentity", { provider, label })}</li>
      </ul>
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={form.fields} />
        <button type="submit" name="decision" value="connect" id="connect">
          {t("connect")}
        </button>
        <button type="submit" name="decision" value="skip" class="quiet" id="skip">
          {t("skip")}
        </button>
      </form>
    </Layout>
  );
}
