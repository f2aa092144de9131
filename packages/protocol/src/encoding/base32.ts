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
