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

export const fingerprintBits = 9;
export const headerBytes = 24;
export const filterFormat = 1;
const fingerprintMask = (1 << fingerprintBits) - 1;

/** The positions of fingerprints: three in consecutive segments for each key. */
export interface FilterShape {
  readonly segmentLog2: number;
  readonly segments: number;
}

export function positionCount({ segmentLog2, segments }: FilterShape): number {
  return (segments + 2) << segmentLog2;
}

/** The size of a table of fingerprints. A read takes two bytes, so there is an extra byte at the end. */
export function tableBytes(positions: number): number {
  return Math.ceil((positions * fingerprintBits) / 8) + 1;
}

/** The hash of a key in one attempt to build: another seed gives other positions. */
export function mix(hash: number, seed: number): number {
  let mixed = Math.imul(hash ^ seed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** The first position is in any segment but the last two; `high` and `low` are mixed. */
export function firstPosition({ segmentLog2, segments }: FilterShape, high: number): number {
  return Math.floor((high / 0x1_0000_0000) * (segments << segmentLog2));
}

export function secondPosition({ segmentLog2 }: FilterShape, first: number, low: number): number {
  return (first + (1 << segmentLog2)) ^ ((low >>> 14) & ((1 << segmentLog2) - 1));
}

export function thirdPosition({ segmentLog2 }: FilterShape, first: number, low: number): number {
  return (first + (2 << segmentLog2)) ^ (low & ((1 << segmentLog2) - 1));
}

export function fingerprintOf(high: number, low: number): number {
  return (high ^ (low >>> 9) ^ (low >>> 23)) & fingerprintMask;
}

export function readFingerprint(table: Uint8Array, position: number): number {
  const bit = position * fingerprintBits;
  const byte = bit >>> 3;
  return ((table[byte]! | (table[byte + 1]! << 8)) >>> (bit & 7)) & fingerprintMask;
}

/**
 * **A set of row keys as a binary fuse filter**: 9 bits of fingerprint, about 10.2 bits a key. A key that was added is always found; any other is
 * found with a probability of 1/512. Keys cannot be removed. The bytes are self-contained, so they can be stored, forwarded and shared.
 * build-row-filter.ts makes them.
 *
 *   0 format (1)   1 log2 of the segment length   4 segments (u32)   8 seed (u32)   12 k0   16 k1   20 rows (u32)   24 fingerprints
 *
 * @see https://arxiv.org/abs/2201.01174
 */
export class RowFilter {
  readonly bytes: Uint8Array;
  /** The number of keys. */
  readonly rows: number;
  readonly #table: Uint8Array;
  readonly #shape: FilterShape;
  readonly #seed: number;
  readonly #key: HashKey;
  readonly #hash = new Uint32Array(2);

  /** Throws if the bytes are not a filter of this format. */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < headerBytes || bytes[0] !== filterFormat) throw new Error("not a filter of this format");
    this.bytes = bytes;
    this.#shape = { segmentLog2: bytes[1]!, segments: view.getUint32(4, true) };
    this.#seed = view.getUint32(8, true);
    this.#key = { k0: view.getUint32(12, true), k1: view.getUint32(16, true) };
    this.rows = view.getUint32(20, true);
    this.#table = bytes.subarray(headerBytes);
    if (this.#table.length !== tableBytes(positionCount(this.#shape))) throw new Error("a filter of another length");
  }

  /** False: the key was not added. True: it was added, or collides by chance. */
  mayContain(key: string): boolean {
    if (this.rows === 0) return false;
    hashInto(key, this.#key, this.#hash, 0);
    const high = mix(this.#hash[0]!, this.#seed);
    const low = mix(this.#hash[1]!, this.#seed);
    const first = firstPosition(this.#shape, high);
    const found =
      readFingerprint(this.#table, first) ^
      readFingerprint(this.#table, secondPosition(this.#shape, first, low)) ^
      readFingerprint(this.#table, thirdPosition(this.#shape, first, low));
    return found === fingerprintOf(high, low);
  }
}
