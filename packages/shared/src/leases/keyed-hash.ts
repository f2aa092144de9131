/**
 * **HalfSipHash-2-4 with 64 bits**, of the characters of a row key, under a random key of 64 bits. A caller that does not know the key cannot choose
 * ids that collide. Characters are read as bytes; row keys are ASCII.
 *
 * @see https://github.com/veorq/SipHash
 */

export interface HashKey {
  readonly k0: number;
  readonly k1: number;
}

/** Writes the 64 bits of the hash to `into[at]` and `into[at + 1]`. */
export function hashInto(text: string, { k0, k1 }: HashKey, into: Uint32Array, at: number): void {
  let v0 = k0;
  let v1 = k1 ^ 0xee;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const round = (): void => {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
  };
  const { length } = text;
  const whole = length & ~3;
  for (let index = 0; index <= whole; index += 4) {
    let word = index === whole ? length << 24 : text.charCodeAt(index + 3) << 24;
    for (let byte = 0; byte < 3 && index + byte < length; byte += 1)
      word |= text.charCodeAt(index + byte) << (8 * byte);
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  v2 ^= 0xee;
  for (let count = 0; count < 4; count += 1) round();
  into[at] = v1 ^ v3;
  v1 ^= 0xdd;
  for (let count = 0; count < 4; count += 1) round();
  into[at + 1] = v1 ^ v3;
}

export function randomHashKey(): HashKey {
  const [k0 = 0, k1 = 0] = crypto.getRandomValues(new Uint32Array(2));
  return { k0, k1 };
}
