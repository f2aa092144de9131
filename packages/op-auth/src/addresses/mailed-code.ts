import type { Browser } from "@edge-op/pages/cookies";
import type { Language } from "@edge-op/pages/languages";
import {
  decodeBase64Url,
  encodeBase64Url,
  encodeUtf8,
  equalConstantTime,
  sha256,
} from "@edge-op/protocol/encoding/bytes";
import { type CodeForm, readTypedCode } from "@edge-op/protocol/encoding/typed-code";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { askerOf } from "@edge-op/shared/http/asker";
import { clientAddress } from "@edge-op/shared/http/client-address";
import {
  type CodeMailResult,
  type CodePurpose,
  mailedCodeMs,
  mailSenderName,
} from "@edge-op/shared/mail/mail-sender-rpc";
import { macText, macTexts } from "@edge-op/shared/secrets/mac";
import { callObject, objectStub } from "@edge-op/shared/storage/call-object";
import { type EmailAddress, parseEmailAddress } from "@edge-op/shared/users/user-addresses";
import type { PageRequest } from "../pages/frame.ts";
import { isKnownBrowser, rememberBrowser, type WayIn } from "../session/known-browser.ts";
import type { MailedCode } from "../step/flow.ts";

/** Wrong attempts at the codes for an address in one flow. */
const mostAttempts = 5;
/** Attempts are counted for longer than any page with a code lives (sealed-flow.ts). */
const countedMs = 45 * 60_000;
const codes = 100_000_000n;
const form: CodeForm = { alphabet: "0123456789", length: 8, group: 4 };

/** Where a code is used: in one browser, in one flow. */
export interface CodeOwner {
  readonly browser: Browser;
  /** 128 random bits: the id of the flow, or of the page. */
  readonly id: string;
}

export interface WantedCode {
  readonly purpose: CodePurpose;
  readonly address: EmailAddress;
  readonly language: Language;
  /** For the purpose `address`: the person whose address it will be. */
  readonly sub?: string;
  /** The code before it, if another one was asked for. */
  readonly previous?: MailedCode | undefined;
}

export type RequestedCode =
  | { readonly kind: "sent"; readonly mailed: MailedCode }
  | { readonly kind: "throttled"; readonly seconds: number };

export type CodeAttempt =
  /** `cookie` makes the browser a known one for the address. */
  | { readonly kind: "right"; readonly address: EmailAddress; readonly cookie: string }
  | { readonly kind: "wrong" }
  | { readonly kind: "expired" }
  /** Too many wrong attempts, or the code was used: nothing in this flow is accepted any more for the address. */
  | { readonly kind: "over" };

/**
 * **Mails a code of eight digits to an address**: valid for ten minutes, in this browser and flow, for this purpose and address, for five attempts.
 * It is a MAC over all of these, so it is stored nowhere; the attempts are counted, and another code resets no count. Nothing is looked up here:
 * `MailSender` decides afterwards whether the address gets a mail, so response and duration are the same for every address. `UnavailableError` if no
 * mail can be sent. Cost: 1 object call.
 */
export async function requestCode(
  { context, isolate, request }: PageRequest,
  owner: CodeOwner,
  { purpose, address, language, sub, previous }: WantedCode,
): Promise<RequestedCode> {
  const { settings, env, requestId, arrivedAtMs: sentAtMs } = context;
  if (settings.mailProvider === "off") throw new UnavailableError("mail", new Error("MAIL_PROVIDER is off"));
  const name = encodeBase64Url(await sha256(`${owner.browser.id}\n${owner.id}\n${purpose}\n${address.key}`));
  const attempts = await isolate.challenges.idOf(context, name);
  const isAnother = previous?.address === address.address;
  const mailed: MailedCode = { purpose, address: address.address, sentAtMs, attempts, isAnother };
  const isKnown = await isKnownBrowser(context, request, owner.browser, wayInBy(address));
  const mail = {
    ...{ id: `${requestId}.code`, purpose, to: address, sub, locale: language, atMs: sentAtMs },
    code: toCode(await macText(env, "code-mac", macInput(owner, mailed))),
    asker: askerOf(context),
    sender: clientAddress(context, request),
    knownBrowser: isKnown ? owner.browser.id : undefined,
  };
  const stub = objectStub(settings, env.MAIL_SENDER, mailSenderName);
  const result = await callObject<CodeMailResult>("mail sender", async () => stub.sendCode(mail));
  if (result.kind === "full") throw new UnavailableError("mail sender", new Error("too many mails wait"));
  if (result.kind === "throttled") return { kind: "throttled", seconds: Math.ceil(result.retryAfterMs / 1000) };
  return { kind: "sent", mailed };
}

/**
 * **Judges a typed code**, and counts the attempt. Of concurrent requests with the right code one succeeds. Whoever succeeds reads the mails of the
 * address now; nothing else is known of them. Cost: 1 object call; 0 for an expired code.
 */
export async function tryCode(
  { context, isolate, request }: PageRequest,
  owner: CodeOwner,
  mailed: MailedCode,
  typed: string,
): Promise<CodeAttempt> {
  const { env, arrivedAtMs } = context;
  const address = parseEmailAddress(mailed.address);
  if (address === undefined || !isCodeValid(mailed, arrivedAtMs)) return { kind: "expired" };
  const digits = encodeUtf8(readTypedCode(typed, form) ?? "");
  const accepted = (await macTexts(env, "code-mac", macInput(owner, mailed))).map(toCode);
  const isRight = accepted.some((code) => equalConstantTime(encodeUtf8(code), digits));
  const counted = { isRight, most: mostAttempts, untilMs: mailed.sentAtMs + countedMs };
  const outcome = await isolate.challenges.attempt(context, "mailed-code", mailed.attempts, counted);
  if (outcome !== "right") return { kind: outcome };
  return { kind: "right", address, cookie: await rememberBrowser(context, request, owner.browser, wayInBy(address)) };
}

/** Whether a code can still be accepted. */
export function isCodeValid({ sentAtMs }: MailedCode, nowMs: number): boolean {
  return nowMs <= sentAtMs + mailedCodeMs;
}

function wayInBy({ key }: EmailAddress): WayIn {
  return `mail\n${key}`;
}

function macInput({ browser, id }: CodeOwner, { purpose, address, sentAtMs }: MailedCode): string {
  return `mailed code\n${browser.id}\n${id}\n${purpose}\n${address}\n${sentAtMs}`;
}

/** 128 bits modulo 10⁸: no code is more likely than another by more than 2⁻¹⁰⁰. */
function toCode(mac: string): string {
  const number = decodeBase64Url(mac)!.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return String(number % codes).padStart(8, "0");
}
