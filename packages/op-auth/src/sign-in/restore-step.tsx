import { Layout } from "@edge-op/pages/layout";
import { accountName, displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { changeDeletion } from "@edge-op/shared/users/user-directory";
import { HiddenFields } from "../pages/form-parts.tsx";
import { changeAs, whileInForce } from "../session/write-as.ts";
import type { Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { findBasis, findSubject, stepFrame } from "../step/step-request.ts";

/** **Keeping an account** that its person has asked to delete. Nobody is signed in before. */
export const restoreStep: Step = {
  name: "restore",
  methods: [],
  isForPerson: false,
  writes: true,
  state: restoreState,
  page: showRestore,
  submit: submitRestore,
};

/** **Whether the person has asked to delete their account.** */
function restoreState({ facts: { person } }: StepInput): StepState {
  return person?.isLeaving ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** **The page on which a person keeps their account.** Cost: 0. */
async function showRestore(at: StepPageRequest): Promise<Response> {
  const { authorization, form, restart } = at;
  const user = await findSubject(at);
  if (user === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const { t } = frame;
  const page = (
    <Layout {...frame} title={t("restore.title")}>
      <div class="head">
        <h1>{t("restore.title")}</h1>
        <p class="muted">{t("restore.text")}</p>
        <Person name={displayName(user)} text={accountName(user)} />
      </div>
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={form.fields} />
        <button type="submit" name="decision" value="keep" id="keep">
          {t("restore.keep")}
        </button>
        <button type="submit" name="decision" value="cancel" class="quiet" id="cancel">
          {t("restore.cancel")}
        </button>
      </form>
    </Layout>
  );
  return respondPage(page, { formLeaves: authorization !== undefined });
}

/** **The decision to keep an account.** The person is told. Cost: tell-person.ts and one control change over all live shards. */
async function submitRestore(at: StepRequest, form: Form): Promise<StepResult> {
  const { context } = at;
  if (form.get("decision") !== "keep") return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const [user, basis] = await Promise.all([findSubject(at), findBasis(at)]);
  if (user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const { sub, claims } = user;
  const restored = { action: "account.restored", target: sub, actor: sub };
  const statements = [
    changeDeletion(context.env.DB, sub, { atMs: context.arrivedAtMs, deletesAtMs: undefined }),
    recordAdminEvent(context, restored, { ifChanged: true }),
  ];
  const guards = [whileInForce(context.env.DB, basis)] as const;
  await tellPerson(context, { sub, claims, kind: "account-restored", evidence: restored }, () =>
    changeAs(context, guards, statements, { changes: [{ kind: "user", id: sub }] }),
  );
  wakeAuditLog(context);
  return { kind: "done" };
}
