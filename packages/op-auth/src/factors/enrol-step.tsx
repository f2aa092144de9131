import { Layout } from "@edge-op/pages/layout";
import { displayName, Person } from "@edge-op/pages/person";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Form } from "@edge-op/shared/http/read-form";
import { OtherWays } from "../pages/form-parts.tsx";
import { neededFactor } from "../step/second-factor.ts";
import type { Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { findAllowed, findBasis, findSubject, stepFrame } from "../step/step-request.ts";
import { confirmSetup, SetupApp, setupKey } from "./app-setup.tsx";

/** **Setting up an authenticator app**, by a person who needs a second factor and has none. Its first code is the proof. */
export const enrolStep: Step = {
  name: "enrol",
  methods: ["totp"],
  isForPerson: false,
  writes: true,
  state: enrolState,
  page: showEnrol,
  submit: submitEnrol,
};

/** **Whether a person must set up a second factor.** */
function enrolState(input: StepInput): StepState {
  return neededFactor(input) === "set up" ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** **The page that sets up an authenticator app during a sign-in.** Loading it again shows the same key. Cost: 0; 1 object call with a session. */
async function showEnrol(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, browser, restart } = at;
  const user = await findSubject(at);
  if (user === undefined) return redirect(restart);
  const frame = await stepFrame(at);
  const { t } = frame;
  const isRefused = flow.problem?.kind === "refused";
  const key = await setupKey(context, { user, browser, id: flow.fid });
  const name = displayName(user);
  const page = (
    <Layout {...frame} title={t("factor.enrolTitle")}>
      <div class="head">
        <h1>{t("factor.enrolTitle")}</h1>
        <p class="muted">{t("factor.enrolText")}</p>
        <Person name={name} text={name} />
      </div>
      {isRefused && (
        <p class="note bad" role="alert" id="problem">
          {t("factor.setUpRefused")}
        </p>
      )}
      <SetupApp t={t} setupKey={key} form={form} isRefused={isRefused} />
      {authorization && <OtherWays frame={frame} form={form} canCancel />}
    </Layout>
  );
  return respondPage(page, { status: isRefused ? 400 : 200, formLeaves: authorization !== undefined });
}

/** **The first code of a new app**, which stores it. Cost: 2 D1 calls beside each other. */
async function submitEnrol(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { context, isolate, browser, flow } = at;
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [user, basis] = await Promise.all([findSubject(at), findBasis(at)]);
  if (user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const { sub } = user;
  const setup = { user, browser, id: flow.fid };
  const [added, allowed] = await Promise.all([
    confirmSetup(at, setup, form.get("code") ?? "", { basis, isFirst: true }),
    findAllowed(at, sub),
  ]);
  if (added === undefined) return { kind: "again", problem: { kind: "refused", method: "code" } };
  const proof = { method: "totp", sub, credential: added.factorId, atMs: context.arrivedAtMs, controlVersion } as const;
  return {
    kind: "done",
    proofs: [proof],
    allowed,
    cookies: [added.cookie],
    marks: { newCodes: { sub, replaced: "" }, enrolled: sub },
  };
}
