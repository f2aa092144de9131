/**
 * **The user code of the device flow**: eight consonants, shown as `BCDF-GHJK`. The letters form no words, and no letter resembles another one or a
 * digit (RFC 8628 §6.1); 20^8 codes, about 34.6 bits.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8628#section-6.1
 */

import { type CodeForm, readTypedCode } from "@edge-op/protocol/encoding/typed-code";

const letters = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;
const half = length / 2;
const form: CodeForm = { alphabet: letters, length, group: half };

export function newUserCode(): string {
  const code: string[] = [];
  while (code.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(2 * length))) {
      // 240 is the largest multiple of 20 within a byte, so every letter has the same probability.
      if (byte < 240 && code.length < length) code.push(letters[byte % letters.length]!);
    }
  }
  return code.join("");
}

/** The code in its stored form, from a text that a person typed or a URL contains; `undefined` for text that is not a code. */
export function readUserCode(text: string): string | undefined {
  return readTypedCode(text, form);
}

export function formatUserCode(code: string): string {
  return `${code.slice(0, half)}-${code.slice(half)}`;
}
