import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { saveConsent } from "@edge-op/shared/users/consents";
import { basisOf } from "../../browser/find-signed-in-person.ts";
import { keepClient } from "../../consent/keep-client.ts";
import { writeAs } from "../../person/write-as.ts";
import type { StepRequest, StepResult } from "../step.ts";

/**
 * **The decision**: allow, deny, or sign in to another account. A consent is stored for this client and these scopes. Cost: 1 D1 call in parallel with those of
 * the response, 2 for the first consent to a client that no administrator registered.
 */
export async function submitConsent(
  { context, authorization, policy, person }: StepRequest,
  form: Form,
): Promise<StepResult> {
  const decision = form.get("decision");
  if (decision === "other") return { kind: "go to", step: "sign-in", marks: { otherAccount: true } };
  const signedIn = await person();
  if (decision !== "allow" || authorization === undefined || signedIn === undefined) {
    return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  }
  const { sub } = signedIn.user;
  const { client } = authorization;
  const { clientId } = client;
  const allowed = policy.asked;
  const write = async () => {
    await keepClient(context, client, sub);
    const given = { action: "consent.given", target: sub, clientId, actor: sub, detail: { allowed } };
    const { DB } = context.env;
    const save = saveConsent(DB, { sub, clientId, allowed, atMs: context.arrivedAtMs });
    await writeAs(context, basisOf(signedIn), [save, recordAdminEvent(context, given)]);
    wakeAuditLog(context);
  };
  return { kind: "done", marks: { consentedBy: sub }, write };
}
