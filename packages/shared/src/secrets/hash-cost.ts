import { platformIterations } from "./derive-hash.ts";
import { currentCost, type ScryptCost } from "./password-cost.ts";
import type { StoredHash } from "./stored-hash.ts";

/** CPU time in workerd, as `load-tests/measure/measure-hashes.ts` has measured it on one machine. Only the proportion counts. */
const milliseconds = {
  /** Per unit of N × r × p of scrypt. */
  scrypt: 200 / (2 ** 14 * 8 * 5),
  /** Per round of bcrypt. */
  bcrypt: 113 / 2 ** 10,
  /** Per iteration of PBKDF2 by the platform. */
  pbkdf2: 0.0006,
  /** The same where there are more than the platform computes. */
  ownPbkdf2: 0.004,
  /** Per KiB of argon2id in one pass. */
  argon2id: 0.007,
} as const;

function costOf(hash: StoredHash): number {
  switch (hash.kind) {
    case "legacy":
      return 0;
    case "bcrypt":
      return 2 ** hash.rounds * milliseconds.bcrypt;
    case "pbkdf2":
      return hash.iterations * (hash.iterations > platformIterations ? milliseconds.ownPbkdf2 : milliseconds.pbkdf2);
    case "argon2id":
      return hash.kibibytes * hash.passes * milliseconds.argon2id;
    default:
      return scryptCost(hash.cost);
  }
}

function scryptCost({ ln, r, p }: ScryptCost): number {
  return 2 ** ln * r * p * milliseconds.scrypt;
}

/** **The cost of a hash in proportion to that of a new one.** 1: equal. */
export function relativeCost(hash: StoredHash): number {
  return costOf(hash) / scryptCost(currentCost);
}

/** The scrypt that a comparison with a cheaper hash adds, so that it costs as much as with a new one. */
export function missingCost(hash: StoredHash): ScryptCost | undefined {
  const missing = 1 - relativeCost(hash);
  return missing <= 0 ? undefined : { ...currentCost, p: Math.ceil(currentCost.p * missing) };
}
