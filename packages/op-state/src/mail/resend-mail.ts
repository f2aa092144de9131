import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { OutgoingMail, SendResult } from "./outgoing-mail.ts";

const sendMs = 10_000;
/** Resend allows two requests a second. */
const limitedMs = 1_000;

interface ResendApi {
  readonly origin: string;
  readonly key: string;
}

/**
 * **Sends by Resend's API.** `Idempotency-Key` is the mail's id, so a repeated attempt sends nothing again within a day.
 *
 * @see https://resend.com/docs/api-reference/emails/send-email
 */
export async function sendByResend({ origin, key }: ResendApi, mail: OutgoingMail): Promise<SendResult> {
  const { id, from, to, subject, text, html } = mail;
  // A quoted name may contain every character but these.
  const sender = `"${from.name.replace(/["\\\p{Cc}]/gu, "")}" <${from.email}>`;
  try {
    const response = await fetch(`${origin}/emails`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": id },
      body: JSON.stringify({ from: sender, to: [to], subject, text, html }),
      signal: AbortSignal.timeout(sendMs),
      redirect: "manual",
    });
    return judge(response.status, await readJson(response), response.headers.get("retry-after"));
  } catch {
    return { kind: "retry", problem: "no response" };
  }
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    const body: unknown = await response.json();
    return isJsonObject(body) ? body : {};
  } catch {
    return {};
  }
}

/** @see https://resend.com/docs/api-reference/errors */
function judge(status: number, body: Readonly<Record<string, unknown>>, retryAfter: string | null): SendResult {
  if (status >= 200 && status < 300) return { kind: "sent", id: String(body["id"] ?? "") };
  const name = typeof body["name"] === "string" ? body["name"] : "";
  const problem = `status ${status} ${name}`.trim();
  if (status === 429) {
    const seconds = Number(retryAfter ?? "");
    return { kind: "retry", afterMs: seconds > 0 ? seconds * 1_000 : limitedMs, problem };
  }
  if (status >= 500 || name === "concurrent_idempotent_requests") return { kind: "retry", problem };
  // An earlier attempt with this key was accepted; a deployment has changed the text since.
  if (name === "invalid_idempotent_request") return { kind: "sent", id: "" };
  if (status === 422 && name === "validation_error") return { kind: "suppressed", problem };
  return { kind: "misconfigured", problem };
}
