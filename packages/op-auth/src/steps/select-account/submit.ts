import type { Form } from "@edge-op/shared/http/read-form";
import type { StepRequest, StepResult } from "../../step/step.ts";

/** **The selection**: continue with the signed-in account, or sign in to another. */
export async function submitSelectAccount(_: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("account") === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  return { kind: "done", marks: { accountSelected: true } };
}
