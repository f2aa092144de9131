import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { factorMessages } from "../../factors/messages.ts";
import { RecoveryCodeList } from "../../factors/recovery-code-list.tsx";
import { HiddenFields } from "../../pages/form-parts.tsx";
import type { StepPageRequest } from "../../step/step.ts";
import { stepFrame } from "../../step/step-request.ts";
import { pageCodes } from "./page-codes.ts";

/** **The page with new recovery codes.** They are stored when the person says that they have saved them. Cost: that of page-codes.ts. */
export async function showRecoveryCodes(at: StepPageRequest): Promise<Response> {
  const { authorization, form, restart } = at;
  const made = await pageCodes(at);
  if (made === undefined) return redirect(restart);
  const frame = stepFrame(at);
  const t = createTranslator(factorMessages, frame.t.language);
  const name = displayName(made.user);
  const page = (
    <Layout {...frame} title={t("codesTitle")}>
      <div class="head">
        <h1>{t("codesTitle")}</h1>
        <p class="muted">{t(made.replaced === "" ? "firstCodesText" : "newCodesText")}</p>
        <Person name={name} text={name} />
      </div>
      <RecoveryCodeList frame={frame} username={made.user.username} codes={made.codes}>
        <form method="post" action={form.action} class="actions">
          <HiddenFields fields={form.fields} />
          <button type="submit" class="quiet" name="codes" value="saved" id="saved">
            {t("done")}
          </button>
          <button type="submit" class="plain" name="codes" value="later" id="later">
            {t(made.replaced === "" ? "withoutCodes" : "keepCodes")}
          </button>
        </form>
      </RecoveryCodeList>
    </Layout>
  );
  return respondPage(page, { formLeaves: authorization !== undefined });
}
