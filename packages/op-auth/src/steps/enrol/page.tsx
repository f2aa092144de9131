import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { setupKey } from "../../factors/app-setup.ts";
import { factorMessages } from "../../factors/messages.ts";
import { SetupApp } from "../../factors/setup-app.tsx";
import { OtherWays } from "../../pages/form-parts.tsx";
import type { StepPageRequest } from "../../step/step.ts";
import { findSubject, stepFrame } from "../../step/step-request.ts";

/** **The page that sets up an authenticator app during a sign-in.** Loading it again shows the same key. Cost: 0; 1 object call with a session. */
export async function showEnrol(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, browser, restart } = at;
  const user = await findSubject(at);
  if (user === undefined) return redirect(restart);
  const frame = stepFrame(at);
  const { language } = frame.t;
  const t = createTranslator(factorMessages, language);
  const isRefused = flow.problem?.kind === "refused";
  const key = await setupKey(context, { user, browser, id: flow.fid });
  const name = displayName(user);
  const page = (
    <Layout {...frame} title={t("enrolTitle")}>
      <div class="head">
        <h1>{t("enrolTitle")}</h1>
        <p class="muted">{t("enrolText")}</p>
        <Person name={name} text={name} />
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("setUpRefused")}
        </p>
      )}
      <SetupApp language={language} setupKey={key} form={form} isRefused={isRefused} />
      {authorization && <OtherWays frame={frame} form={form} canCancel />}
    </Layout>
  );
  return respondPage(page, { status: isRefused ? 400 : 200, formLeaves: authorization !== undefined });
}
