import type { RenderedMail } from "@edge-op/pages/mail/mail-page";
import { isJsonObject } from "@edge-op/protocol/encoding/json-object";
import type { Settings } from "@edge-op/shared/config/settings";
import { callHook, type HooksBindings, plainValue, UnusableResult } from "@edge-op/shared/hooks/call-hook";
import { within } from "@edge-op/shared/runtime/deadline";

export interface OutgoingMail extends RenderedMail {
  /** The same for each attempt. */
  readonly id: string;
  readonly from: { readonly email: string; readonly name: string };
  readonly to: string;
}

/**
 * `retry`: the provider cannot accept it now. `suppressed`: it will never accept a mail to this address. `misconfigured`: it accepts no mail of this
 * deployment, which an operator must mend. `problem` is for the log and contains no address.
 */
export type SendResult =
  | { readonly kind: "sent"; readonly id: string }
  | { readonly kind: "retry"; readonly afterMs?: number; readonly problem: string }
  | { readonly kind: "suppressed"; readonly problem: string }
  | { readonly kind: "misconfigured"; readonly problem: string };

export interface MailProviderBindings extends HooksBindings {
  readonly EMAIL?: SendEmail;
  /** A secret. */
  readonly RESEND_API_KEY?: string;
}

/** A provider that has not responded by then is asked again later. */
const sendMs = 10_000;

/** **Sends a mail by the provider of the deployment** (`MAIL_PROVIDER`). */
export async function sendMail(
  env: MailProviderBindings,
  { mailProvider, resendOrigin }: Pick<Settings, "mailProvider" | "resendOrigin">,
  mail: OutgoingMail,
): Promise<SendResult> {
  switch (mailProvider) {
    case "cloudflare":
      if (env.EMAIL === undefined) return { kind: "misconfigured", problem: "the binding EMAIL is missing" };
      return sendByCloudflare(env.EMAIL, mail);
    case "resend":
      if (!env.RESEND_API_KEY) return { kind: "misconfigured", problem: "the secret RESEND_API_KEY is missing" };
      return sendByResend({ origin: resendOrigin, key: env.RESEND_API_KEY }, mail);
    case "hook":
      return sendByHook(env, mail);
    default:
      return { kind: "misconfigured", problem: "MAIL_PROVIDER is off" };
  }
}

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
