const stepMs = 30_000;
const digits = 6;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * **What an authenticator app shows** at a time in epoch milliseconds, for a key as a page shows it (base32, in groups). In k6 and in Node.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6238#section-4
 */
export async function totpCode(keyText: string, atMs: number): Promise<string> {
  const counter = new Uint8Array(8);
  // The upper half is zero until the year 6053.
  new DataView(counter.buffer).setUint32(4, Math.floor(atMs / stepMs));
  const algorithm = { name: "HMAC", hash: { name: "SHA-1" } };
  const key = await crypto.subtle.importKey("raw", octetsOfBase32(keyText).buffer, algorithm, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter.buffer));
  const number = mac.getUint32(mac.getUint8(mac.byteLength - 1) & 0xf) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

function octetsOfBase32(text: string): Uint8Array<ArrayBuffer> {
  const characters = text.replaceAll(" ", "");
  const octets = new Uint8Array(Math.floor((characters.length * 5) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const character of characters) {
    held = (held << 5) | alphabet.indexOf(character);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    octets[at] = held >> bits;
    at += 1;
    held &= (1 << bits) - 1;
  }
  return octets;
}
