import type { Form } from "@edge-op/shared/http/read-form";
import { connectIdentity } from "../../upstream/link-identity.ts";
import { pendingProofs } from "../flow.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findAllowed, findSubject } from "../subject.ts";

/**
 * **The decision to connect an identity elsewhere**, of the person who has proven the account in this flow. An identity that cannot be connected any more
 * is no reason to stop. Cost: that of link-identity.ts, then 1 D1 call.
 */
export async function submitLink(at: StepRequest, form: Form): Promise<StepResult> {
  const { link } = at.flow.marks;
  const isProven = pendingProofs(at.flow).some(({ sub }) => sub === link?.sub);
  const user = await findSubject(at);
  if (link === undefined || !isProven || user?.sub !== link.sub) return { kind: "go to", step: "sign-in" };
  if (form.get("decision") === "connect") await connectIdentity(at, user, link.id);
  return { kind: "done", marks: { link: undefined }, allowed: await findAllowed(at, link.sub) };
}
