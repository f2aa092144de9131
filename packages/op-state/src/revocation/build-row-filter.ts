import {
  type FilterShape,
  filterFormat,
  fingerprintBits,
  fingerprintOf,
  firstPosition,
  type HashKey,
  hashInto,
  headerBytes,
  mix,
  positionCount,
  readFingerprint,
  secondPosition,
  tableBytes,
  thirdPosition,
} from "@edge-op/shared/leases/row-filter";

/** Keys or positions between two pauses: a few milliseconds. */
const stepsPerSlice = 10_000;
/** Each attempt succeeds with a probability of more than one half. */
const attempts = 64;

/** **The hashes of the keys of a filter**, 8 bytes each. */
export class FilterKeys {
  readonly key: HashKey;
  #hashes = new Uint32Array(2_048);
  #count = 0;

  constructor(key: HashKey) {
    this.key = key;
  }

  get count(): number {
    return this.#count;
  }

  get hashes(): Uint32Array {
    return this.#hashes;
  }

  add(rowKey: string): void {
    if (2 * this.#count === this.#hashes.length) {
      const larger = new Uint32Array(2 * this.#hashes.length);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    hashInto(rowKey, this.key, this.#hashes, 2 * this.#count);
    this.#count += 1;
  }
}

/**
 * **Builds the bytes of a {@link RowFilter}** in slices: the caller may do other work after each `yield`. The keys are distinct.
 * Returns `undefined` if two of them have the same hash, which cannot be expected to happen. Memory: about 28 bytes a key while it is
 * building. Pure; `nextSeed` gives the seed of each attempt.
 */
export function* buildRowFilter(
  keys: FilterKeys,
  nextSeed: () => number,
): Generator<undefined, Uint8Array<ArrayBuffer> | undefined> {
  const shape = shapeFor(keys.count);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const seed = nextSeed() >>> 0;
    const peeling = new Peeling(shape, keys, seed);
    yield* peeling.addKeys();
    if (!(yield* peeling.peel())) continue;
    const bytes = header(shape, keys, seed);
    yield* peeling.assign(bytes.subarray(headerBytes));
    return bytes;
  }
  return undefined;
}

/** Builds without pauses: for few keys. */
export function buildSmallRowFilter(keys: FilterKeys, nextSeed: () => number): Uint8Array<ArrayBuffer> | undefined {
  const build = buildRowFilter(keys, nextSeed);
  for (;;) {
    const step = build.next();
    if (step.done === true) return step.value;
  }
}

/** The parameters of the reference implementation. */
function shapeFor(count: number): FilterShape {
  const size = Math.max(count, 2);
  const segmentLog2 = Math.min(18, Math.max(2, Math.floor(Math.log(size) / Math.log(3.33) + 2.25)));
  const factor = Math.max(1.125, 0.875 + (0.25 * Math.log(1_000_000)) / Math.log(size));
  const segments = Math.ceil(Math.ceil(size * factor) / (1 << segmentLog2)) - 2;
  return { segmentLog2, segments: Math.max(1, segments) };
}

function header(shape: FilterShape, { key, count }: FilterKeys, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(headerBytes + tableBytes(positionCount(shape)));
  const view = new DataView(bytes.buffer);
  bytes[0] = filterFormat;
  bytes[1] = shape.segmentLog2;
  view.setUint32(4, shape.segments, true);
  view.setUint32(8, seed, true);
  view.setUint32(12, key.k0, true);
  view.setUint32(16, key.k1, true);
  view.setUint32(20, count, true);
  return bytes;
}

/** Keys are removed one at a time, each at a position that no other key has; in reverse order each determines that position. */
class Peeling {
  readonly #shape: FilterShape;
  readonly #keys: FilterKeys;
  readonly #seed: number;
  readonly #counts: Uint16Array;
  /** The hashes of all keys at a position, combined by XOR: with one key left, its hash. */
  readonly #high: Uint32Array;
  readonly #low: Uint32Array;
  readonly #order: Uint32Array;

  constructor(shape: FilterShape, keys: FilterKeys, seed: number) {
    const positions = positionCount(shape);
    this.#shape = shape;
    this.#keys = keys;
    this.#seed = seed;
    this.#counts = new Uint16Array(positions);
    this.#high = new Uint32Array(positions);
    this.#low = new Uint32Array(positions);
    this.#order = new Uint32Array(keys.count);
  }

  *addKeys(): Generator<undefined, void> {
    const { hashes, count } = this.#keys;
    for (let index = 0; index < count; index += 1) {
      if (index % stepsPerSlice === stepsPerSlice - 1) yield;
      this.#change(mix(hashes[2 * index]!, this.#seed), mix(hashes[2 * index + 1]!, this.#seed), 1);
    }
  }

  /** False if some keys cannot be separated with this seed. */
  *peel(): Generator<undefined, boolean> {
    const positions = this.#counts.length;
    const alone = new Uint32Array(positions);
    let waiting = 0;
    let peeled = 0;
    let steps = 0;
    for (let start = 0; start < positions; start += 1) {
      if (this.#counts[start] === 1) alone[waiting++] = start;
      while (waiting > 0) {
        steps += 1;
        if (steps % stepsPerSlice === 0) yield;
        const position = alone[--waiting]!;
        if (this.#counts[position] !== 1) continue;
        const high = this.#high[position]!;
        const low = this.#low[position]!;
        this.#order[peeled++] = position;
        this.#change(high, low, -1);
        // Removed from its own position too. The hash is restored here, to be read when fingerprints are assigned.
        this.#high[position] = high;
        this.#low[position] = low;
        const first = firstPosition(this.#shape, high);
        const second = secondPosition(this.#shape, first, low);
        const third = thirdPosition(this.#shape, first, low);
        if (this.#counts[first] === 1) alone[waiting++] = first;
        if (this.#counts[second] === 1) alone[waiting++] = second;
        if (this.#counts[third] === 1) alone[waiting++] = third;
      }
    }
    return peeled === this.#keys.count;
  }

  *assign(table: Uint8Array): Generator<undefined, void> {
    for (let index = this.#order.length - 1; index >= 0; index -= 1) {
      if (index % stepsPerSlice === stepsPerSlice - 1) yield;
      const position = this.#order[index]!;
      const high = this.#high[position]!;
      const low = this.#low[position]!;
      const first = firstPosition(this.#shape, high);
      // The position itself is still 0.
      const others =
        readFingerprint(table, first) ^
        readFingerprint(table, secondPosition(this.#shape, first, low)) ^
        readFingerprint(table, thirdPosition(this.#shape, first, low));
      const bit = position * fingerprintBits;
      const value = (fingerprintOf(high, low) ^ others) << (bit & 7);
      table[bit >>> 3]! |= value & 0xff;
      table[(bit >>> 3) + 1]! |= value >>> 8;
    }
  }

  #change(high: number, low: number, by: 1 | -1): void {
    const first = firstPosition(this.#shape, high);
    this.#at(first, high, low, by);
    this.#at(secondPosition(this.#shape, first, low), high, low, by);
    this.#at(thirdPosition(this.#shape, first, low), high, low, by);
  }

  #at(position: number, high: number, low: number, by: 1 | -1): void {
    this.#counts[position]! += by;
    this.#high[position]! ^= high;
    this.#low[position]! ^= low;
  }
}
