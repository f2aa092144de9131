/**
 * **Codes of authenticator apps** (TOTP): HMAC-SHA-1, six digits, 30 seconds, which every app supports. Pure.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6238#section-4
 */

import { encodeBase32 } from "@edge-op/protocol/encoding/bytes";
import { type CodeForm, readTypedCode } from "@edge-op/protocol/encoding/typed-code";

const stepMs = 30_000;
const digits = 6;
const form: CodeForm = { alphabet: "0123456789", length: digits, group: 3 };

/** The code in a text that a person typed. */
export function readTotpCode(typed: string): string | undefined {
  return readTypedCode(typed, form);
}
/** Steps before and after the present one whose codes are accepted, for clocks that differ (RFC 6238 §5.2). */
const tolerance = 1;

export function totpStep(atMs: number): number {
  return Math.floor(atMs / stepMs);
}

/** The code of a step, HOTP of its number (RFC 4226 §5.3). */
export async function totpCode(secret: Uint8Array<ArrayBuffer>, step: number, length = digits): Promise<string> {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter.buffer));
  const offset = mac.getUint8(mac.byteLength - 1) & 0xf;
  const number = (mac.getUint32(offset) & 0x7fffffff) % 10 ** length;
  return String(number).padStart(length, "0");
}

/** The step whose code this is, if it is after `lastStep` and the clocks differ by a step at most. A code is accepted once (RFC 6238 §5.2). */
export async function matchTotp(
  secret: Uint8Array<ArrayBuffer>,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): Promise<number | undefined> {
  const now = totpStep(nowMs);
  const steps = Array.from({ length: 2 * tolerance + 1 }, (_, index) => now - tolerance + index);
  const codes = await Promise.all(steps.map(async (step) => ({ step, code: await totpCode(secret, step) })));
  return codes.find((each) => each.code === code && each.step > lastStep)?.step;
}

/** Steps before those that are accepted, of which it is told that the phone's clock is behind. */
const longAgo = 20;

/**
 * **Why a code of this app was not accepted**: `used`, or `old`, when the phone's clock is behind. Nothing is told of codes of the future: whoever
 * guessed one could use it when its time comes.
 */
export async function explainTotp(
  secret: Uint8Array<ArrayBuffer>,
  code: string,
  { nowMs, lastStep }: { readonly nowMs: number; readonly lastStep: number },
): Promise<"used" | "old" | undefined> {
  const newest = totpStep(nowMs) + tolerance;
  const steps = Array.from({ length: 2 * tolerance + 1 + longAgo }, (_, index) => newest - index);
  const codes = await Promise.all(steps.map((step) => totpCode(secret, step)));
  const step = steps.find((_, index) => codes[index] === code);
  if (step === undefined) return undefined;
  if (step < totpStep(nowMs) - tolerance) return "old";
  return step <= lastStep ? "used" : undefined;
}

/**
 * The URI of a key for apps.
 *
 * @see https://github.com/google/google-authenticator/wiki/Key-Uri-Format
 */
export function otpauthUri(
  secret: Uint8Array,
  { issuer, account }: { readonly issuer: string; readonly account: string },
): string {
  // A colon separates the two names.
  const [service, name] = [issuer, account].map((text) => encodeURIComponent(text.replaceAll(":", " ")));
  return `otpauth://totp/${service}:${name}?secret=${encodeBase32(secret)}&issuer=${service}`;
}
