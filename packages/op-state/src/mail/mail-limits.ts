import type { AccountMail } from "@edge-op/pages/mail/account-mails";
import { type CodeMail, noticeKinds, type PreparedNotice } from "@edge-op/shared/mail/mail-sender-rpc";
import type { AttemptLane } from "@edge-op/shared/sessions/session-rpc";
import { addressKey } from "./failed-addresses.ts";

const hour = 3_600_000;
/** Three at once, then one in five minutes; ten a day. */
const burst = { capacity: 3, drainMs: 300_000 };
const ofDay = { capacity: 10, drainMs: 8_640_000 };
const ofSender = { capacity: 20, drainMs: hour / 20 };
/** Codes for one purpose do not use up the provider's quota for another. */
const ofDeployment = { capacity: 5_000, drainMs: 1_000 };

/**
 * **How many mails are sent to an address.** A person cannot be flooded by a thief of their session, nor a provider's quota be used up by one
 * program: further mails wait. A code was counted when it was requested.
 */
export function sendLimits(kind: AccountMail["kind"], key: string): AttemptLane {
  if (!noticeKinds.some((each) => each === kind)) return [{ key: `all mails ${kind}`, limit: ofDeployment }];
  return [
    { key: `mail ${key}`, limit: burst },
    { key: `mails of a day ${key}`, limit: ofDay },
    { key: "all mails", limit: ofDeployment },
  ];
}

/**
 * **How many notices of one kind wait for a person**: as many as an address is sent in a day, so that one person does not fill the outbox of all. A
 * notice that an address needs, because it is given up or can undo the change, is no flood's to displace: a mailed code or an administrator was
 * needed for each.
 */
export function noticeLimits({
  sub,
  kind,
  removed,
  undo,
}: Pick<PreparedNotice, "sub" | "kind" | "removed" | "undo">): AttemptLane {
  const isNeeded = removed !== undefined || undo !== undefined;
  return isNeeded ? [] : [{ key: `notices ${kind} ${sub}`, limit: ofDay }];
}

/**
 * **How many codes are requested for an address, and by a sender.** Addresses that nobody has are counted as all others are. A browser in which a
 * code for the address has succeeded has a limit of its own, and so have codes for sign-ins, which need the password: strangers do not use up the
 * mails of their owner.
 */
export async function codeLimits({
  purpose,
  to: { key },
  sender,
  knownBrowser,
}: Pick<CodeMail, "purpose" | "to" | "sender" | "knownBrowser">): Promise<AttemptLane> {
  const lane = purpose === "sign-in" ? `sign-in ${key}` : key;
  const target = await addressKey(knownBrowser === undefined ? lane : `${knownBrowser} ${lane}`);
  const counted = [
    { key: `code ${target}`, limit: burst },
    { key: `codes of a day ${target}`, limit: ofDay },
  ];
  if (sender === undefined) return counted;
  return [...counted, { key: `codes from ${await addressKey(sender)}`, limit: ofSender }];
}
