import { askerOf } from "../http/asker.ts";
import type { RequestContext } from "../http/request-context.ts";
import { nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { callObject, objectStub } from "../storage/call-object.ts";
import type { User } from "../users/user.ts";
import {
  type ChangeEvidence,
  type MailSenderRpc,
  mailSenderName,
  type NoticeKind,
  type PreparedNotice,
} from "./mail-sender-rpc.ts";

export interface MailBindings {
  readonly MAIL_SENDER: DurableObjectNamespace<MailSenderRpc>;
}

type MailContext = Pick<RequestContext<MailBindings>, "env" | "settings" | "requestId" | "waitUntil"> &
  Partial<Pick<RequestContext<unknown>, "cf" | "device">>;

export interface Notice
  extends Pick<PreparedNotice, "removed" | "undo" | "takesBack" | "locale" | "isByAdministrator"> {
  readonly sub: string;
  /** Where they are known: a person without a verified address is not told, and costs no call. */
  readonly claims?: User["claims"];
  readonly kind: NoticeKind;
  /** The event that `commit` writes. */
  readonly evidence: Omit<ChangeEvidence, "requestId">;
}

/**
 * **Tells a person of a change of their account, by mail**: prepares the mail, commits the change, and releases the mail in the background. A Worker
 * that ends in between sends it all the same, if the change was committed (ADR 58). `commit` returns false if there was nothing to change. Cost: 1
 * object call before the commit; 0 if `MAIL_PROVIDER` is off.
 */
export async function tellPerson<T>(context: MailContext, notice: Notice, commit: () => Promise<T>): Promise<T> {
  return tellPersonWhen(context, notice, async (ready) => {
    await ready;
    return commit();
  });
}

/** The same for a commit that has other work to do before: it must wait for `ready` before anything of the change can be seen. */
export async function tellPersonWhen<T>(
  context: MailContext,
  { claims, evidence, ...notice }: Notice,
  commit: (ready: Promise<unknown>) => Promise<T>,
): Promise<T> {
  const { env, settings, requestId } = context;
  const isUnverified = claims !== undefined && (claims.email === undefined || claims.email_verified !== true);
  if (settings.mailProvider === "off" || isUnverified) return commit(Promise.resolve());
  const stub = objectStub(settings, env.MAIL_SENDER, mailSenderName);
  // A change that is attempted again in the same request, on top of another one, is one change.
  const id = `${requestId}.${notice.kind}`;
  // The request of an administrator says nothing of the person.
  const asker = notice.isByAdministrator ? undefined : askerOf(context);
  const prepared = { ...notice, id, atMs: nowMs(), evidence: { ...evidence, requestId }, asker };
  const ready = callObject("mail sender", () => stub.prepare(prepared));
  const result = await commit(ready);
  const isPrepared = await ready;
  if (!isPrepared) log("mail-not-prepared", { requestId });
  if (isPrepared && result !== false) context.waitUntil(release(stub, id));
  return result;
}

/** If it fails, the object finds the change itself. */
async function release(stub: DurableObjectStub<MailSenderRpc>, id: string): Promise<void> {
  try {
    await stub.release(id);
  } catch (cause) {
    log("mail-not-released", { cause: String(cause) });
  }
}
