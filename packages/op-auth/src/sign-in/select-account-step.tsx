import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { accountName } from "@edge-op/pages/person";
import { respondPage } from "@edge-op/pages/respond-page";
import type { Form } from "@edge-op/shared/http/read-form";
import { describeClient } from "../pages/describe-client.tsx";
import { HiddenFields } from "../pages/form-parts.tsx";
import type { AuthPageFrame } from "../pages/frame.ts";
import { isProvenIn } from "../step/flow.ts";
import type { Step, StepForm, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";

/** **Account selection**, for `prompt=select_account`. */
export const selectAccountStep: Step = {
  name: "select-account",
  methods: [],
  isForPerson: true,
  writes: false,
  state: selectAccountState,
  page: showSelectAccount,
  submit: submitSelectAccount,
};

/** **Whether a person must select an account**: with `prompt=select_account`, unless they have signed in in this flow. */
function selectAccountState({ flow, facts: { person }, policy }: StepInput): StepState {
  if (!policy.prompt.includes("select_account")) return { kind: "done" };
  const isFresh = person !== undefined && isProvenIn(flow, person.sub);
  if (flow.marks.accountSelected || isFresh) return { kind: "done" };
  return { kind: "needed", error: "account_selection_required" };
}

interface SelectAccountView {
  readonly form: StepForm;
  readonly client: { readonly name: string; readonly logoUri: string | undefined };
  /** Display name of the signed-in person. */
  readonly user: string;
}

/** **The account selection page**: the signed-in account or another. Cost: 1 object call; a logo as in describe-client.tsx. */
async function showSelectAccount(at: StepPageRequest): Promise<Response> {
  const { context, isolate, authorization, form } = at;
  const person = await at.person();
  if (authorization === undefined || person === undefined) throw new Error("nobody to select");
  const view = {
    form,
    client: await describeClient(context, isolate, authorization.client),
    user: accountName(person.user),
  };
  const frame = await stepFrame(at);
  const page = <SelectAccountPage frame={frame} view={view} />;
  return respondPage(page, { formLeaves: true });
}

function SelectAccountPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: SelectAccountView }) {
  const { t } = frame;
  return (
    <Layout {...frame} title={t("select.title")} account>
      <div class="head">
        <ClientMark name={view.client.name} logoUri={view.client.logoUri} />
        <h1>{t("select.title")}</h1>
        <p class="muted">{t("select.to", { client: view.client.name })}</p>
      </div>
      <form method="post" action={view.form.action} class="actions">
        <HiddenFields fields={view.form.fields} />
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

/** **The selection**: continue with the signed-in account, or sign in to another. */
async function submitSelectAccount(_: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  return { kind: "done", marks: { accountSelected: true } };
}
