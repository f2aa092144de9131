import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type AddressFailure, mailSenderName } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";

/** **Tells `MailSender` which addresses cannot receive mail.** Cost: 1 object call. */
export async function recordFailures(
  { env, settings }: Pick<RequestContext<MailBindings>, "env" | "settings">,
  failures: readonly AddressFailure[],
): Promise<void> {
  await callObject("mail sender", () => objectStub(settings, env.MAIL_SENDER, mailSenderName).recordFailures(failures));
}
