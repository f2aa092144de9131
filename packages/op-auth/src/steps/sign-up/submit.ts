import type { Form } from "@edge-op/shared/http/read-form";
import { parseEmailAddress } from "@edge-op/shared/users/email-address";
import { longestName, readName } from "../../sign-up/read-name.ts";
import { sendSignUpCode } from "../../sign-up/send-code.ts";
import { isDomainAllowed, isSignUpOpen } from "../../sign-up/sign-up-rule.ts";
import type { StepRequest, StepResult } from "../step.ts";

/** **A posted name and address.** What belongs to the address is not looked up. Cost: 1 object call. */
export async function submitSignUp(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  if (form.get("account") === "existing") {
    return { kind: "done", marks: { hasAccount: true, newcomer: undefined } };
  }
  const typedName = form.get("name")?.slice(0, 2 * longestName);
  const name = readName(form.get("name"));
  const typed = (form.get("address") ?? "").trim().slice(0, 320);
  const again = (method: string): StepResult => {
    return { kind: "again", problem: { kind: "refused", method }, typed, marks: { typedName } };
  };
  if (!isSignUpOpen(at.context)) return again("closed");
  if (name === undefined) return again("name");
  const address = parseEmailAddress(typed);
  if (address === undefined) return again("address");
  if (!isDomainAllowed(at.context, address)) return again("domain");
  return sendSignUpCode(at, { name, address });
}
