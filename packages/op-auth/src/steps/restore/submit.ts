import { recordAdminEvent, wakeAuditLog } from "@edge-op/shared/audit/admin-event";
import type { Form } from "@edge-op/shared/http/read-form";
import { tellPerson } from "@edge-op/shared/mail/tell-person";
import { changeDeletion } from "@edge-op/shared/users/user-directory";
import { changeAs, whileInForce } from "../../person/write-as.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findBasis, findSubject } from "../subject.ts";

/** **The decision to keep an account.** The person is told. Cost: tell-person.ts and one control change over all live shards. */
export async function submitRestore(at: StepRequest, form: Form): Promise<StepResult> {
  const { context } = at;
  if (form.get("decision") !== "keep") return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const [user, basis] = await Promise.all([findSubject(at), findBasis(at)]);
  if (user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const { sub, claims } = user;
  const restored = { action: "account.restored", target: sub, actor: sub };
  const statements = [
    changeDeletion(context.env.DB, sub, { atMs: context.arrivedAtMs, deletesAtMs: undefined }),
    recordAdminEvent(context, restored, { ifChanged: true }),
  ];
  const guards = [whileInForce(context.env.DB, basis)] as const;
  await tellPerson(context, { sub, claims, kind: "account-restored", evidence: restored }, () =>
    changeAs(context, guards, statements, { changes: [{ kind: "user", id: sub }] }),
  );
  wakeAuditLog(context);
  return { kind: "done" };
}
