import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { HiddenFields } from "../../pages/form-parts.tsx";
import type { StepPageRequest } from "../../step/step.ts";
import { findSubject, stepFrame } from "../../step/step-request.ts";
import { restoreMessages } from "./messages.ts";

/** **The page on which a person keeps their account.** Cost: 0. */
export async function showRestore(at: StepPageRequest): Promise<Response> {
  const { authorization, form, restart } = at;
  const user = await findSubject(at);
  if (user === undefined) return redirect(restart);
  const frame = stepFrame(at);
  const t = createTranslator(restoreMessages, frame.t.language);
  const page = (
    <Layout {...frame} title={t("title")}>
      <div class="head">
        <h1>{t("title")}</h1>
        <p class="muted">{t("text")}</p>
        <Person name={displayName(user)} text={accountName(user)} />
      </div>
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={form.fields} />
        <button type="submit" name="decision" value="keep" id="keep">
          {t("keep")}
        </button>
        <button type="submit" name="decision" value="cancel" class="quiet" id="cancel">
          {t("cancel")}
        </button>
      </form>
    </Layout>
  );
  return respondPage(page, { formLeaves: authorization !== undefined });
}
