import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { tryCode } from "../../mailed-codes/mailed-code.ts";
import type { MailedCode } from "../flow.ts";
import type { StepRequest, StepResult } from "../step.ts";
import { findByAddress, type RecoveringAccount } from "./find-by-address.ts";

interface ProvenMailbox {
  readonly kind: "proven";
  readonly account: RecoveringAccount;
  readonly proof: Proof;
  readonly cookie: string;
}

/**
 * **Judges the code of a mailbox, and finds whose it is.** Cost: 1 object call; for the right code 1 D1 call after it, and 1 object call in parallel with these with a session
 * cookie.
 */
export async function judgeCode(
  at: StepRequest,
  mailed: MailedCode,
  typed: string,
): Promise<ProvenMailbox | Extract<StepResult, { readonly kind: "again" }>> {
  const { context, isolate, browser, flow } = at;
  // As in a sign-in: before the account is read (ADR 28).
  await isolate.revocation.confirmControl(context);
  const controlVersion = isolate.control.version ?? 0;
  const [attempt] = await Promise.all([tryCode(at, { browser, id: flow.fid }, mailed, typed), at.person()]);
  if (attempt.kind !== "right") return { kind: "again", problem: { kind: "refused", method: attempt.kind } };
  const { key } = attempt.address;
  const account = await findByAddress(context.env.DB, key);
  // Suspended, or without this address, since the mail was sent.
  if (account === undefined) return { kind: "again", problem: { kind: "refused", method: "over" } };
  const { sub } = account;
  const proof: Proof = { method: "mailedCode", sub, credential: key, atMs: context.arrivedAtMs, controlVersion };
  return { kind: "proven", account, proof, cookie: attempt.cookie };
}
