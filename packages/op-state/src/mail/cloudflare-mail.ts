import { within } from "@edge-op/shared/runtime/deadline";
import type { OutgoingMail, SendResult } from "./outgoing-mail.ts";

const sendMs = 10_000;

const temporary = new Set([
  "E_RATE_LIMIT_EXCEEDED",
  "E_DAILY_LIMIT_EXCEEDED",
  "E_INTERNAL_SERVER_ERROR",
  "E_DELIVERY_FAILED",
]);

/**
 * **Sends by Cloudflare Email Sending.** It has no idempotency key, so a mail whose result is lost may arrive twice.
 *
 * @see https://developers.cloudflare.com/email-service/api/send-emails/workers-api/
 */
export async function sendByCloudflare(
  binding: SendEmail,
  { from, to, subject, text, html }: OutgoingMail,
): Promise<SendResult> {
  try {
    const sending = binding.send({ from, to, subject, text, html });
    const { messageId } = await within(sendMs, sending, () => {
      throw new Error(`no response within ${sendMs} ms`);
    });
    return { kind: "sent", id: messageId };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) return { kind: "retry", problem: "no response" };
    if (code === "E_RECIPIENT_SUPPRESSED") return { kind: "suppressed", problem: code };
    return { kind: temporary.has(code) ? "retry" : "misconfigured", problem: code };
  }
}
