import type { Settings } from "@edge-op/shared/config/settings";
import type { HooksBindings } from "@edge-op/shared/hooks/call-hook";
import { sendByCloudflare } from "./cloudflare-mail.ts";
import { sendByHook } from "./hook-mail.ts";
import type { OutgoingMail, SendResult } from "./outgoing-mail.ts";
import { sendByResend } from "./resend-mail.ts";

export interface MailProviderBindings extends HooksBindings {
  readonly EMAIL?: SendEmail;
  /** A secret. */
  readonly RESEND_API_KEY?: string;
}

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
