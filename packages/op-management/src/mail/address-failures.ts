import { isJsonObject, type JsonObject } from "@edge-op/protocol/encoding/json-object";
import type { RequestContext } from "@edge-op/shared/http/request-context";
import { type AddressFailure, mailSenderName } from "@edge-op/shared/mail/mail-sender-rpc";
import type { MailBindings } from "@edge-op/shared/mail/tell-person";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";

/**
 * **The addresses that an event of a provider of mail names**, and why; none for other events. A temporary failure is none: the provider tries again.
 * The events also contain subjects, which are not read.
 */
export function failuresIn(event: JsonObject): readonly AddressFailure[] {
  const type = typeof event["type"] === "string" ? event["type"] : "";
  return type.startsWith("email.") ? ofResend(type, event["data"]) : ofCloudflare(type, event["payload"]);
}

/** @see https://resend.com/docs/webhooks/event-types */
function ofResend(type: string, data: unknown): readonly AddressFailure[] {
  if (!isJsonObject(data)) return [];
  const { to, bounce } = data;
  const isTransient = isJsonObject(bounce) && bounce["type"] === "Transient";
  if (type === "email.complained") return failures(to, "complained");
  return type === "email.bounced" && !isTransient ? failures(to, "bounced") : [];
}

const cloudflareEvents: Readonly<Record<string, AddressFailure["kind"]>> = {
  "cf.email.sending.message.bounced": "bounced",
  "cf.email.sending.message.complained": "complained",
};

/** @see https://developers.cloudflare.com/email-service/platform/event-subscriptions/ */
function ofCloudflare(type: string, payload: unknown): readonly AddressFailure[] {
  const kind = cloudflareEvents[type];
  return kind === undefined || !isJsonObject(payload) ? [] : failures(payload["recipient"] ?? payload["to"], kind);
}

const mostAddresses = 50;

function failures(named: unknown, kind: AddressFailure["kind"]): readonly AddressFailure[] {
  const addresses: readonly unknown[] = Array.isArray(named) ? named.slice(0, mostAddresses) : [named];
  return addresses
    .filter((address) => typeof address === "string" && address.length <= 320 && address.includes("@"))
    .map((address) => ({ address: address as string, kind }));
}

/** **Tells `MailSender` which addresses cannot receive mail.** Cost: 1 object call. */
export async function recordFailures(
  { env, settings }: Pick<RequestContext<MailBindings>, "env" | "settings">,
  failures: readonly AddressFailure[],
): Promise<void> {
  await callObject("mail sender", () => objectStub(settings, env.MAIL_SENDER, mailSenderName).recordFailures(failures));
}
