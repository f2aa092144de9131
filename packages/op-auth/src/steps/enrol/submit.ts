import type { Form } from "@edge-op/shared/http/read-form";
import { confirmSetup } from "../../factors/app-setup.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findAllowed, findBasis, findSubject } from "../subject.ts";

/** **The first code of a new app**, which stores it. Cost: 2 D1 calls in parallel. */
export async function submitEnrol(at: StepRequest, form: Form): Promise<StepResult> {
  if (form.get("cancel") !== undefined) return { kind: "refuse", code: "access_denied", reason: "person-denied" };
  const { context, isolate, browser, flow } = at;
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [user, basis] = await Promise.all([findSubject(at), findBasis(at)]);
  if (user === undefined || basis === undefined) return { kind: "go to", step: "sign-in" };
  const { sub } = user;
  const setup = { user, browser, id: flow.fid };
  const [added, allowed] = await Promise.all([
    confirmSetup(at, setup, form.get("code") ?? "", { basis, isFirst: true }),
    findAllowed(at, sub),
  ]);
  if (added === undefined) return { kind: "again", problem: { kind: "refused", method: "code" } };
  const proof = { method: "totp", sub, credential: added.factorId, atMs: context.arrivedAtMs, controlVersion } as const;
  return {
    kind: "done",
    proofs: [proof],
    allowed,
    cookies: [added.cookie],
    marks: { newCodes: { sub, replaced: "" }, enrolled: sub },
  };
}
