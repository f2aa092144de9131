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

/** Milliseconds of CPU. */
export function costOf(hash: StoredHash): number {
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

/** The most that leaves room in the default of `CPU_MS` for the rest of a sign-in. */
const mostMs = 1_500;

/** Why a hash is not imported, although it could be computed: its person could not sign in. */
export function findCostFault(hash: StoredHash): string | undefined {
  return costOf(hash) <= mostMs
    ? undefined
    : "takes too much CPU: the person sets a new password (docs/operating/import.md)";
}

/** Whether a second comparison has room in a request. */
export function isComparedTwice(hash: StoredHash): boolean {
  return 2 * costOf(hash) <= mostMs;
}

/**
 * **How long a refusal takes at least**: as long as with the dearest hash of the deployment on a machine half as slow again, so that its time does
 * not tell whose hash was imported. 0 if none is dearer than a new one. A second spelling is compared only with hashes of {@link isComparedTwice}.
 */
export function refusalMs(dearestMs: number, spellings: number): number {
  if (dearestMs <= scryptCost(currentCost)) return 0;
  return 1.5 * Math.max(dearestMs, Math.min(spellings * dearestMs, mostMs));
}

/** Microseconds of {@link costOf}, as the index `user_passwords_by_cost` has them: the text is that of the migration. */
const costColumn = `
  CASE substr(hash, 1, 3)
    WHEN '$sc' THEN (1 << CAST(substr(hash, 12) AS INTEGER)) * CAST(substr(hash, instr(hash, ',r=') + 3) AS INTEGER) * CAST(substr(hash, instr(hash, ',p=') + 3) AS INTEGER) * 305 / 1000
    WHEN '$fi' THEN (1 << CAST(substr(hash, 21) AS INTEGER)) * CAST(substr(hash, instr(hash, ',r=') + 3) AS INTEGER) * 305 / 1000
    WHEN '$ar' THEN CAST(substr(hash, instr(hash, '$m=') + 3) AS INTEGER) * CAST(substr(hash, instr(hash, ',t=') + 3) AS INTEGER) * 7
    WHEN '$pb' THEN CAST(substr(hash, instr(hash, '$i=') + 3) AS INTEGER) * CASE WHEN CAST(substr(hash, instr(hash, '$i=') + 3) AS INTEGER) > 100000 THEN 4000 ELSE 600 END / 1000
    WHEN '$le' THEN 0
    ELSE (1 << CAST(substr(hash, 5, 2) AS INTEGER)) * 110
  END`;

/** The dearest hash, in milliseconds as `dearest_ms`; one row of the index. */
export const dearestHash = `SELECT ${costColumn} / 1000.0 AS dearest_ms FROM user_passwords
  WHERE substr(hash, 1, 22) <> '$scrypt$ln=14,r=8,p=5$' ORDER BY ${costColumn} DESC LIMIT 1`;

/** **The cost of a hash in proportion to that of a new one.** 1: equal. */
export function relativeCost(hash: StoredHash): number {
  return costOf(hash) / scryptCost(currentCost);
}

/** The scrypt that a comparison with a cheaper hash adds, so that it costs as much as with a new one. */
export function missingCost(hash: StoredHash): ScryptCost | undefined {
  const missing = 1 - relativeCost(hash);
  return missing <= 0 ? undefined : { ...currentCost, p: Math.ceil(currentCost.p * missing) };
}
