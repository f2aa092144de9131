import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { HiddenFields } from "../pages/form-parts.tsx";
import { readDeployment } from "../runtime/deployment.ts";
import { rememberTerms, saveAgreement } from "../session/agreed-terms.ts";
import { basisOf } from "../session/signed-in-person.ts";
import { writeAs } from "../session/write-as.ts";
import type { Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { TermsLinks, termsFields } from "./terms-parts.tsx";

/**
 * **Agreeing to the terms of service of the deployment**, before a client gets access. The person is signed in before, so that one who does not agree
 * can still use their account.
 */
export const termsStep: Step = {
  name: "terms",
  methods: [],
  isForPerson: true,
  writes: true,
  state: termsState,
  page: showTerms,
  submit: submitTerms,
};

/**
 * **Whether the person has agreed to another version than the one in force, or to none.**
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthError
 */
function termsState({ facts: { person, terms }, policy }: StepInput): StepState {
  const isAgreed = person === undefined || policy.terms === undefined || terms === policy.terms;
  return isAgreed ? { kind: "done" } : { kind: "needed", error: "interaction_required" };
}

/** **The page with the link to the terms.** Cost: 1 object call. */
async function showTerms(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  const person = await at.person();
  const { terms } = readDeployment(context.env);
  if (person === undefined || terms === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const { t } = frame;
  const isChanged = flow.problem?.kind === "refused" && flow.problem.method === "terms";
  const { user } = person;
  const page = (
    <Layout {...frame} title={t("terms.title")} account>
      <div class="head">
        <h1>{t("terms.title")}</h1>
        <p class="muted">{t("terms.text", { provider: frame.branding.name })}</p>
        <Person name={displayName(user)} text={accountName(user)} />
      </div>
      {isChanged && (
        <p class="note bad" role="alert" id="problem">
          {t("terms.changed")}
        </p>
      )}
      <TermsLinks frame={frame} />
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={{ ...form.fields, ...termsFields(terms) }} />
        <button type="submit" name="decision" value="agree" id="agree">
          {t("terms.agree")}
        </button>
        <button type="submit" name="decision" value="decline" class="quiet" id="decline">
          {t("terms.decline")}
        </button>
      </form>
      <p class="muted small center">{t("terms.stay")}</p>
    </Layout>
  );
  return respondPage(page, { status: isChanged ? 400 : 200, formLeaves: authorization !== undefined });
}

/** **The agreement to the version that the page has shown**, if it is still in force. Cost: 1 D1 call beside those of the decision. */
async function submitTerms(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("decision") !== "agree") return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { context, browser } = at;
  const signedIn = await at.person();
  const { terms } = readDeployment(context.env);
  if (signedIn === undefined || terms === undefined) return { kind: "go to", step: "sign-in" };
  const { version } = terms;
  if (form.get("terms") !== version) return { kind: "again", problem: { kind: "refused", method: "terms" } };
  const { sub } = signedIn.user;
  const write = async () => {
    const agreement = { version, atMs: context.arrivedAtMs };
    const event = { action: "terms.accepted", target: sub, actor: sub, detail: { version } };
    const recorded = recordAdminEvent(context, event, { ifChanged: true });
    await writeAs(context, basisOf(signedIn), [saveAgreement(context.env.DB, sub, agreement), recorded]);
    wakeAuditLog(context);
  };
  const cookies = [await rememberTerms(at, browser, sub, version)];
  return { kind: "done", terms: { version }, cookies, write };
}
