import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { saveRecoveryCodes } from "../../factors/factor-store.ts";
import { writeAs } from "../../person/write-as.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { pageCodes } from "./page-codes.ts";

/**
 * **Stores the codes of the page**, in place of those from before, or leaves everything as it is. A repeated form changes nothing. Cost: 1 D1 call, then 1
 * in parallel with the calls that follow, and tell-person.ts.
 */
export async function submitRecoveryCodes(at: StepRequest, form: Form): Promise<StepResult> {
  const { context } = at;
  const done = { kind: "done", marks: { newCodes: undefined } } as const;
  if (form.get("codes") !== "saved") return done;
  const made = await pageCodes(at);
  if (made === undefined) return done;
  const { setId, hashes, replaced, basis } = made;
  const { sub, claims } = made.user;
  const event = { action: "recovery_codes.made", target: setId, actor: sub };
  const write = async () => {
    const takesBack = { kind: "recovery_codes", id: setId } as const;
    const notice = { sub, claims, kind: "recovery-codes-made", evidence: event, takesBack } as const;
    const isSaved = await tellPerson(context, notice, async () => {
      const save = saveRecoveryCodes(context, { sub, setId, hashes, replaced });
      const statements = [save, recordAdminEvent(context, event, { ifChanged: true })];
      return writeAs(context, basis, statements);
    });
    if (isSaved) wakeAuditLog(context);
  };
  return { ...done, write };
}
