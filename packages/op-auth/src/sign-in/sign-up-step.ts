import { randomBase64Url } from "@edge-op/protocol/encoding/bytes";
import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import { requestCode, tryCode } from "../addresses/mailed-code.ts";
import { type MailedCode, type Newcomer, newcomerOf } from "../step/flow.ts";
import type { Step, StepInput, StepRequest, StepResult, StepState } from "../step/step.ts";
import { stepFrame } from "../step/step-request.ts";
import { leaveByDomain } from "../upstream/discovery.ts";
import { showSignUp } from "./sign-up-page.tsx";
import { isDomainAllowed, isIdentifierTaken, isSignUpOpen, longestName, readName, taken } from "./sign-up-rule.tsx";

/** **Signing up**: a person names themselves and the address to which a code is sent. */
export const signUpStep: Step = {
  name: "sign-up",
  methods: [],
  isForPerson: false,
  writes: false,
  state: signUpState,
  page: showSignUp,
  submit: submitSignUp,
};

/**
 * **Whether a person signs up**: the client asks for it, and they have not said that they have an account; or they have begun, and have not proven
 * their address. Anyone else gets here from the sign-in page.
 *
 * @see https://openid.net/specs/openid-connect-prompt-create-1_0.html#section-4.1
 */
function signUpState({ flow, policy }: StepInput): StepState {
  const newcomer = newcomerOf(flow);
  const isAsked = policy.prompt.includes("create") && flow.proofs.length === 0 && flow.marks.hasAccount !== true;
  const isNeeded = newcomer === undefined ? isAsked : newcomer.sub === undefined;
  return isNeeded ? { kind: "needed", error: "login_required" } : { kind: "done" };
}

/**
 * **A posted name and address, or a posted code.** Of an address nothing is looked up: who has entered the code of a mail to it learns whether it has
 * an account. Cost: 1 object call; for the right code 1 D1 call after it.
 */
async function submitSignUp(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { flow } = at;
  const typed = form.get("address");
  if (form.get("account") === "existing") {
    const marks = { hasAccount: true, newcomer: undefined };
    return { kind: "done", marks, typed: typed?.trim().slice(0, 254) };
  }
  if (typed !== undefined) return readNewcomer(at, form, typed.trim().slice(0, 254));
  const newcomer = newcomerOf(flow);
  const { mailed } = flow.marks;
  if (newcomer === undefined || mailed?.purpose !== "sign-up" || form.get("other") !== undefined) {
    return { kind: "go to", step: "sign-up", marks: { mailed: undefined } };
  }
  if (form.get("again") !== undefined) return sendCode(at, newcomer, mailed);
  return judge(at, newcomer, mailed, form.get("code") ?? "");
}

async function readNewcomer(at: StepRequest, form: Form, typed: string): Promise<StepResult> {
  const marks = { typedName: form.get("name")?.slice(0, 2 * longestName) };
  const again = (method: string): StepResult => {
    return { kind: "again", problem: { kind: "refused", method }, typed, marks };
  };
  if (!isSignUpOpen(at.context)) return again("closed");
  const name = readName(form.get("name"));
  if (name === undefined) return again("name");
  const address = parseEmailAddress(typed);
  if (address === undefined) return again("invalidAddress");
  if (!isDomainAllowed(at.context, address)) return again("domain");
  return (await leaveByDomain(at, { typed })) ?? sendCode(at, { name, address });
}

async function sendCode(at: StepRequest, { name, address }: Newcomer, previous?: MailedCode): Promise<StepResult> {
  const { context, browser, flow } = at;
  const { language } = (await stepFrame(at)).t;
  const wanted = { purpose: "sign-up", address, language, previous } as const;
  const requested = await requestCode(at, { browser, id: flow.fid }, wanted);
  if (requested.kind === "throttled") {
    const untilMs = context.arrivedAtMs + requested.seconds * 1000;
    const problem = { kind: "throttled", untilMs } as const;
    return { kind: "again", problem, typed: address.address, marks: { typedName: name } };
  }
  const marks = { newcomer: { name, address }, mailed: requested.mailed, hasAccount: false, typedName: undefined };
  return { kind: "go to", step: "sign-up", marks };
}

async function judge(at: StepRequest, newcomer: Newcomer, mailed: MailedCode, typed: string): Promise<StepResult> {
  const { context, browser, flow } = at;
  const { name, address } = newcomer;
  const attempt = await tryCode(at, { browser, id: flow.fid }, mailed, typed);
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  // The address of the code, not of another page of the flow.
  if (attempt.address.key !== address.key) return { kind: "again", problem: { kind: "refused", method: "over" } };
  if (await isIdentifierTaken(context.env.DB, address.key, context.arrivedAtMs)) return taken;
  const proven = { name, address, sub: `u${randomBase64Url(16)}` };
  return { kind: "done", marks: { newcomer: proven, mailed: undefined }, cookies: [attempt.cookie] };
}
