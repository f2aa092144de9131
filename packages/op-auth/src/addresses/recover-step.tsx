import { Layout } from "@edge-op/pages/layout";
import { redirect, respondPage } from "@edge-op/pages/respond-page";
import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { OtherWays } from "../pages/form-parts.tsx";
import type { MailedCode } from "../step/flow.ts";
import type { Step, StepPageRequest, StepRequest, StepResult } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { formLeaves, leaveByDomain } from "../upstream/discovery.ts";
import { AddressForm, CodePage, CodeProblemNote, codeProblemOf, respondingTo } from "./code-page.tsx";
import { judgeCode } from "./find-by-address.ts";
import { requestCode } from "./mailed-code.ts";

/**
 * **The first step to a new password**: an address, then the code that was mailed to it. A person chooses it on the sign-in page. Its proof signs
 * nobody in: the steps after it ask for a second factor, if the account has one, and for the new password.
 */
export const recoverStep: Step = {
  name: "recover",
  methods: ["mailedCode"],
  isForPerson: false,
  writes: false,
  state: () => ({ kind: "done" }),
  page: showRecover,
  submit: submitRecover,
};

/** **The page for an address, then the one for its code.** The same for every address. Cost: 0. */
async function showRecover(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  if (context.settings.mailProvider === "off") return redirect(restart);
  const frame = await stepFrame(at);
  const problem = codeProblemOf(flow.problem, context.arrivedAtMs);
  const options = { ...respondingTo(problem), formLeaves: await formLeaves(at) };
  const { mailed } = flow.marks;
  if (mailed?.purpose === "recover") {
    const nowMs = context.arrivedAtMs;
    const view = { form, mailed, problem, canCancel: authorization !== undefined, nowMs, restart };
    return respondPage(<CodePage frame={frame} view={view} />, options);
  }
  const { t } = frame;
  const isInvalid = problem?.kind === "invalidAddress";
  // A name that was typed on the sign-in page may be an address.
  const address = isInvalid ? flow.typed : parseEmailAddress(flow.typed ?? "")?.address;
  const page = (
    <Layout {...frame} title={t("recover.title")} formId="address-form">
      <div class="head">
        <h1>{t("recover.title")}</h1>
        <p class="muted">{t("recover.text")}</p>
      </div>
      <CodeProblemNote frame={frame} problem={problem} />
      <AddressForm frame={frame} form={form} address={address} isInvalid={isInvalid} />
      {authorization && <OtherWays frame={frame} form={form} canCancel />}
    </Layout>
  );
  return respondPage(page, options);
}

/**
 * **A posted address, or a posted code.** Of an address nothing is looked up, so that an address without an account, a suspended account and every
 * other one have the same response after the same calls. Cost: 1 object call for an address; for a code as in find-by-address.ts.
 */
async function submitRecover(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { mailed } = at.flow.marks;
  const typed = form.get("address");
  if (typed !== undefined) return (await leaveByDomain(at, { typed })) ?? sendTo(at, typed);
  if (mailed?.purpose !== "recover" || form.get("other") !== undefined) {
    return { kind: "go to", step: "recover", marks: { mailed: undefined } };
  }
  return form.get("again") === undefined
    ? judge(at, mailed, form.get("code") ?? "")
    : sendTo(at, mailed.address, mailed);
}

async function sendTo(at: StepRequest, typed: string, previous?: MailedCode): Promise<StepResult> {
  const { context, browser, flow } = at;
  const address = parseEmailAddress(typed);
  const again = { kind: "again", typed: typed.slice(0, 254) } as const;
  if (address === undefined) return { ...again, problem: { kind: "refused", method: "invalidAddress" } };
  const { language } = (await stepFrame(at)).t;
  const owner = { browser, id: flow.fid };
  const requested = await requestCode(at, owner, { purpose: "recover", address, language, previous });
  if (requested.kind === "throttled") {
    const untilMs = context.arrivedAtMs + requested.seconds * 1000;
    return { ...again, problem: { kind: "throttled", untilMs } };
  }
  return { kind: "go to", step: "recover", marks: { mailed: requested.mailed } };
}

async function judge(at: StepRequest, mailed: MailedCode, typed: string): Promise<StepResult> {
  const judged = await judgeCode(at, mailed, typed);
  if (judged.kind === "again") return judged;
  const { proof, account, cookie } = judged;
  return {
    kind: "done",
    proofs: [proof],
    marks: { mailed: undefined },
    cookies: [cookie],
    factors: account.factors,
    isActive: account.isActive,
    allowed: undefined,
  };
}
