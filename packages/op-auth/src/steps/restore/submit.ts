import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import type { Form } from "@edge-op/shared/http/read-form";
import { changeDeletion } from "@edge-op/shared/users/leaving-users";
import { tellPerson } from "@edge-op/shared/users/tell-person";
import type { StepRequest, StepResult } from "../step.ts";
import { findRestoring } from "./find-restoring.ts";

/** **The decision to keep an account.** The person is told. Cost: 1 D1 call, tell-person.ts and one control change over all live shards. */
export async function submitRestore(at: StepRequest, form: Form): Promise<StepResult> {
  const { context } = at;
  if (form.get("decision") !== "keep") return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const user = await findRestoring(at);
  if (user === undefined) return { kind: "go to", step: "sign-in" };
  const { sub, claims } = user;
  const restored = { action: "account.restored", target: sub, actor: sub };
  const statements = [
    changeDeletion(context.env.DB, sub, { atMs: context.arrivedAtMs, deletesAtMs: undefined }),
    recordAdminEvent(context, restored, { ifChanged: true }),
  ];
  await tellPerson(context, { sub, claims, kind: "account-restored", evidence: restored }, () =>
    commitControlChange(context, statements, [{ kind: "user", id: sub }]),
  );
  wakeAuditLog(context);
  return { kind: "done" };
}
