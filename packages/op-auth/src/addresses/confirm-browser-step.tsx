import { respondPage } from "@edge-op/pages/respond-page";
import { findAuthentication } from "@edge-op/protocol/oauth/authentication-context";
import type { Form } from "@edge-op/shared/http/read-form";
import { verifiedAddress } from "@edge-op/shared/users/user-addresses";
import { frameOf } from "../pages/frame.ts";
import { type Flow, pendingProofs } from "../step/flow.ts";
import { mfaAcr } from "../step/second-factor.ts";
import type { BegunFlow, Step, StepInput, StepPageRequest, StepRequest, StepResult, StepState } from "../step/step.ts";
import { findAllowed, localesOf, stepFrame } from "../step/step-request.ts";
import { CodePage, codeProblemOf, respondingTo } from "./code-page.tsx";
import { judgeCode } from "./find-by-address.ts";
import { requestCode } from "./mailed-code.ts";

/** **A mailed code beside a password in a browser that is new to the person** (`NEW_BROWSER=code`). */
export const confirmBrowserStep: Step = {
  name: "confirm-browser",
  methods: ["mailedCode"],
  isForPerson: false,
  writes: false,
  state: confirmBrowserState,
  begin: beginConfirmBrowser,
  page: showConfirmBrowser,
  submit: submitConfirmBrowser,
};

/**
 * **Whether a sign-in needs a mailed code, because the browser is new to the person.** Only a password alone does: two factors need no more, and
 * another provider looks at browsers itself. A factor that was set up in this flow is none of them, because whoever has the password could set it up.
 * The code is a signal, not a factor: it changes no `acr` (NIST SP 800-63B-4 §3.1.3.1). Pure.
 */
export function confirmBrowserState({ flow, facts }: Pick<StepInput, "flow" | "facts">): StepState {
  const { person, isNewBrowser, isMailable } = facts;
  if (person === undefined || isNewBrowser !== true || isMailable !== true) return { kind: "done" };
  const has = (method: string) => flow.proofs.some((proof) => proof.sub === person.sub && proof.method === method);
  const hasTwoFactors = findAuthentication(person.proofs, mfaAcr) !== undefined && flow.marks.enrolled !== person.sub;
  const isNeeded = has("password") && !has("mailedCode") && !hasTwoFactors;
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/** **Mails the code to the person's main address.** Cost: 1 object call. */
async function beginConfirmBrowser(at: BegunFlow, sub: string): Promise<Pick<Flow, "marks" | "problem">> {
  const { context, isolate, request, flow, browser } = at;
  const user = await isolate.users.find(context, sub);
  const address = user && verifiedAddress(user.claims);
  const marks = { ...flow.marks, mailed: undefined };
  if (address === undefined) return { marks };
  const { language } = (await frameOf(context, request, localesOf(flow.purpose))).t;
  const previous = flow.marks.mailed?.purpose === "sign-in" ? flow.marks.mailed : undefined;
  const wanted = { purpose: "sign-in", address, language, previous } as const;
  const requested = await requestCode(at, { browser, id: flow.fid }, wanted);
  if (requested.kind === "sent") return { marks: { ...marks, mailed: requested.mailed } };
  return { marks, problem: { kind: "throttled", untilMs: context.arrivedAtMs + requested.seconds * 1000 } };
}

/** **The page for the code of a new browser.** Cost: 0. */
async function showConfirmBrowser(at: StepPageRequest): Promise<Response> {
  const { context, authorization, form, flow, restart } = at;
  const frame = await stepFrame(at);
  const { t } = frame;
  const problem = codeProblemOf(flow.problem, context.arrivedAtMs);
  const { mailed } = flow.marks;
  const view = {
    form,
    mailed: mailed?.purpose === "sign-in" ? mailed : undefined,
    problem,
    canCancel: authorization !== undefined,
    nowMs: context.arrivedAtMs,
    restart,
    demanded: {
      text: t("newBrowser.text"),
      other: {
        name: "account",
        value: "other",
        id: "other-account",
        text: t("factor.other"),
      },
    },
  };
  const options = { ...respondingTo(problem), formLeaves: authorization !== undefined };
  return respondPage(<CodePage frame={frame} view={view} />, options);
}

/**
 * **A posted code**, of the person whose password was proven in this flow: nobody is named here. Cost: as in find-by-address.ts, beside it 1 D1 call
 * for the consent; 1 object call for another code.
 */
async function submitConfirmBrowser(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const [proof] = pendingProofs(at.flow);
  if (proof === undefined) return { kind: "go to", step: "sign-in" };
  const { sub } = proof;
  const { mailed } = at.flow.marks;
  if (mailed?.purpose !== "sign-in" || form.get("again") !== undefined) {
    const { marks, problem } = await beginConfirmBrowser(at, sub);
    // The code before it stays valid.
    if (problem !== undefined) return { kind: "again", problem };
    return { kind: "go to", step: "confirm-browser", marks };
  }
  const [judged, allowed] = await Promise.all([judgeCode(at, mailed, form.get("code") ?? ""), findAllowed(at, sub)]);
  if (judged.kind === "again") return judged;
  // The address has been given to somebody else meanwhile.
  if (judged.account.sub !== sub) return { kind: "again", problem: { kind: "refused", method: "over" } };
  const { proof: mailbox, account, cookie } = judged;
  return {
    kind: "done",
    proofs: [mailbox],
    marks: { mailed: undefined },
    cookies: [cookie],
    factors: account.factors,
    allowed,
  };
}
