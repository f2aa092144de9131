import type { Language } from "@edge-op/pages/languages";
import { createTranslator } from "@edge-op/pages/translator";
import { dataMessages } from "./data-messages.ts";

/** **Links of the account page to its activity, its data and its deletion**, if the deployment lets people delete their accounts. */
export function DataSection({ language, canDelete }: { readonly language: Language; readonly canDelete: boolean }) {
  const t = createTranslator(dataMessages, language);
  return (
    <section>
      <h2>{t("title")}</h2>
      <a class="button quiet top" href="/account/activity" id="activity">
        {t("activity")}
      </a>
      <a class="button quiet top" href="/account/data" id="data">
        {t("download")}
      </a>
      {canDelete && (
        <a class="button danger top" href="/account/delete" id="delete">
          {t("remove")}
        </a>
      )}
    </section>
  );
}
