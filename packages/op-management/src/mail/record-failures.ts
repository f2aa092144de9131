import type { RequestContext } from "@edge-op/shared/http/request-context";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { type AddressFailure, mailSenderName } from "@edge-op/shared/users/mail-sender-rpc";
import type { MailBindings } from "@edge-op/shared/users/tell-person";

/** **Tells `MailSender` which addresses cannot receive mail.** Cost: 1 object call. */
export async function recordFailures(
  { env, settings }: Pick<RequestContext<MailBindings>, "env" | "settings">,
  failures: readonly AddressFailure[],
): Promise<void> {
  await callObject("mail sender", () => objectStub(settings, env.MAIL_SENDER, mailSenderName).recordFailures(failures));
}
