/** **Bytes as text**: unpadded base64url, hexadecimal; hashes and random bytes. @see https://www.rfc-editor.org/rfc/rfc7515#section-2 */

import * as base64url from "jose/base64url";

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder();
const beyondAscii = /[\x80-\xff]/;

export function encodeBase64Url(bytes: Uint8Array | ArrayBuffer): string {
  return base64url.encode(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
}

/** Patterns by `length % 4`: the unused trailing bits of the last character must be zero. */
const canonicalBase64Url = [/^[\w-]*$/, undefined, /^[\w-]*[AQgw]$/, /^[\w-]*[AEIMQUYcgkosw048]$/];

/** `undefined` for anything except the canonical unpadded encoding, so that a value has one spelling. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (canonicalBase64Url[text.length % 4]?.test(text) !== true) return undefined;
  return base64url.decode(text) as Uint8Array<ArrayBuffer>;
}

/**
 * The UTF-8 text that base64 encodes, with correct or no padding; `undefined` for anything else.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4648#section-4
 */
export function decodeBase64Text(text: string): string | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  return beyondAscii.test(binary)
    ? fromUtf8.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
    : binary;
}

/** The bytes that base64 encodes, with correct or no padding; `undefined` for anything else. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** `size` random bytes as unpadded base64url: 16 for ids, 32 for secrets. */
export function randomBase64Url(size: number): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(size)));
}

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(text) as Uint8Array<ArrayBuffer>;
}

export async function sha256(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encodeUtf8(text)));
}

/** Lower-case hexadecimal. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares in time that depends only on the lengths. */
export function equalConstantTime(a: Uint8Array<ArrayBuffer>, b: Uint8Array<ArrayBuffer>): boolean {
  if (a.byteLength !== b.byteLength) return false;
  return crypto.subtle.timingSafeEqual(a, b);
}

/** FNV-1a, 32 bit, over the UTF-16 code units of an ASCII id. @see https://www.rfc-editor.org/rfc/rfc9923 */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32 without padding. @see https://www.rfc-editor.org/rfc/rfc4648#section-6 */
export function encodeBase32(bytes: Uint8Array): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, "0"), 2)]).join("");
}

/** Reads base32 in any case, with padding and spaces or without; `undefined` for anything else. Bits of an incomplete byte are ignored. */
export function decodeBase32(text: string): Uint8Array<ArrayBuffer> | undefined {
  const digits = text.toUpperCase().replace(/[\s-]|=+$/g, "");
  if (!/^[A-Z2-7]+$/.test(digits)) return undefined;
  const bits = [...digits].map((digit) => alphabet.indexOf(digit).toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}
