import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import { callHook, type HooksBindings, plainValue, UnusableResult } from "@edge-op/shared/hooks/call-hook";
import type { OutgoingMail, SendResult } from "./outgoing-mail.ts";

/** **Sends by the hook `mail`.** The mail's id is the same for each attempt, so that the operator's Worker can send it once. */
export async function sendByHook(
  env: HooksBindings,
  { id, from, to, subject, text, html }: OutgoingMail,
): Promise<SendResult> {
  if (env.HOOKS === undefined) return { kind: "misconfigured", problem: "the binding HOOKS is missing" };
  const result = await callHook({ env }, "mail", { id, from, to, subject, text, html }, readMailResult);
  return result.kind === "answered" ? result.value : { kind: "retry", problem: "the hook failed" };
}

function readMailResult(result: unknown): SendResult {
  const plain = plainValue(result, { size: 1_000, depth: 2 });
  const { kind, id = "", problem, afterMs } = isJsonObject(plain) ? plain : {};
  if (kind === "sent" && typeof id === "string") return { kind, id };
  if (typeof problem !== "string") throw new UnusableResult("the result is not that of a mail");
  if (kind === "suppressed" || kind === "misconfigured") return { kind, problem };
  if (kind !== "retry") throw new UnusableResult("the result is not that of a mail");
  if (afterMs === undefined) return { kind, problem };
  if (typeof afterMs !== "number" || afterMs < 0) throw new UnusableResult("afterMs is not a time");
  return { kind, problem, afterMs };
}
