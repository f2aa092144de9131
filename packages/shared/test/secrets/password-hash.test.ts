import { findCostFault, missingCost, refusalMs, relativeCost } from "@edge-op/shared/secrets/hash-cost";
import { currentCost } from "@edge-op/shared/secrets/password-cost";
import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { readHash, type StoredHash } from "@edge-op/shared/secrets/stored-hash";
import { describe, expect, it } from "vitest";
import {
  firebaseHash,
  firebasePassword,
  importedHashes,
  importedPassword,
} from "../../../../test/fixtures/imported-hashes.ts";

/** scrypt("correct horse", 16 zero bytes, N = 2^14, r = 8, p = 5), computed by Node's crypto.scryptSync. */
const foreign = "$scrypt$ln=14,r=8,p=5$AAAAAAAAAAAAAAAAAAAAAA$kSQ1bJYPD8Jgs7OVgip9Bc7Nv0GJkSsREzrHDUV_bZ4";

/** A hash with these parameters. */
function bySalt(parameters: string): string {
  return `${parameters}$MDEyMzQ1Njc4OWFiY2RlZg$MjZP1+1U9JUbDWvDvtLyEsZiNXOKEUxfi6O2oe46uxA`;
}

describe("passwords", () => {
  it("RFC 7914: a hash created elsewhere with the same parameters verifies", async () => {
    expect(await verifyPassword("correct horse", foreign)).toBe(true);
    expect(await verifyPassword("correct horsf", foreign)).toBe(false);
  });

  it("a password verifies against its own hash and no other does", async () => {
    const stored = await hashPassword("Tr0ub4dor&3");
    expect(stored).toMatch(/^\$scrypt\$ln=14,r=8,p=5\$[A-Za-z0-9_-]{22}\$[A-Za-z0-9_-]{43}$/);
    expect(await verifyPassword("Tr0ub4dor&3", stored)).toBe(true);
    expect(await verifyPassword("tr0ub4dor&3", stored)).toBe(false);
    expect(await verifyPassword("", stored)).toBe(false);
  });

  it("the same password has two different hashes when hashed twice", async () => {
    expect(await hashPassword("same")).not.toBe(await hashPassword("same"));
  });

  it("NIST SP 800-63B-4 §3.1.1.2: composed and decomposed spellings are one password (NFC), and look-alikes are others", async () => {
    expect(await verifyPassword("cafe\u0301", await hashPassword("caf\u00e9"))).toBe(true);
    expect(await verifyPassword("x2", await hashPassword("x\u00b2"))).toBe(false);
  });

  it("an unknown user is refused after the same work as a wrong password", async () => {
    const workOf = async (stored: string | undefined) => {
      const startedAtMs = performance.now();
      expect(await verifyPassword("guess", stored)).toBe(false);
      return performance.now() - startedAtMs;
    };
    // Run alternately, so that a busy machine slows both. A refusal without the work would take a thousandth of the time.
    const [unknown, known] = [[await workOf(undefined)], [await workOf(foreign)]];
    unknown.push(await workOf(undefined));
    known.push(await workOf(foreign));
    expect(Math.max(...unknown)).toBeGreaterThan(Math.min(...known) / 10);
  });

  it.each([
    ["an unknown function", "$argon2d$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA", "must be a hash"],
    ["no hash", "$scrypt$ln=14,r=8,p=5$AAAAAAAAAAAAAAAAAAAAAA$", "must be a hash"],
    ["too much memory", foreign.replace("ln=14", "ln=20"), "64 MiB"],
    ["too much memory for argon2id", bySalt("$argon2id$v=19$m=65537,t=1,p=1"), "65536 KiB"],
    ["too many passes", bySalt("$argon2id$v=19$m=65536,t=6,p=1"), "327680"],
    ["too many iterations", bySalt("$pbkdf2-sha512$i=300001"), "300000 iterations"],
    ["no iterations", bySalt("$pbkdf2-sha512$i=0"), "1 to 300000"],
    ["too many rounds", `$2b$14$${"a".repeat(53)}`, "4 to 13"],
    ["a key that anybody guesses", "$pbkdf2-sha256$i=1$c2FsdHNhbHQ$c2FsdA", "a key of 16"],
  ])("a stored value with %s is a fault, not a refusal, and no import accepts it", async (_, stored, message) => {
    expect(readHash(stored)).toContain(message);
    await expect(verifyPassword("guess", stored)).rejects.toThrow("a stored password hash");
  });

  it("a hash with another cost is outdated and still verifies", async () => {
    expect(isOutdatedHash(foreign)).toBe(false);
    expect(isOutdatedHash(foreign.replace("p=5", "p=1"))).toBe(true);
  });
});

describe("hashes of other products", () => {
  it.each(importedHashes)("%s: verifies the password, refuses another one, and is replaced", async (_, stored) => {
    expect(await verifyPassword(importedPassword, stored)).toBe(true);
    expect(await verifyPassword("correct horsf", stored)).toBe(false);
    expect(isOutdatedHash(stored)).toBe(true);
  });

  it("Firebase: its own example", async () => {
    expect(await verifyPassword(firebasePassword, firebaseHash)).toBe(true);
    expect(await verifyPassword("user2password", firebaseHash)).toBe(false);
    const otherProject = firebaseHash.replace("$jxspr", "$kxspr");
    expect(await verifyPassword("user1password", otherProject)).toBe(false);
  });

  it("a password that normalization changes is compared as it was typed, too", async () => {
    const stored = "$2b$04$PJwpuorcJbtsAOiOXI7ruer4imsSxY4iour5yebs3uBEUpBYsm0fK";
    expect(await verifyPassword("pa\u0308sswort", stored)).toBe(true);
    expect(await verifyPassword("p\u00e4sswort", stored)).toBe(true);
  });

  it.each([
    ["none, or cheaper ones", 200, 1, 0],
    ["bcrypt 12", 452, 1, 678],
    ["bcrypt 12, and a spelling that normalization changes", 452, 2, 1356],
    ["argon2id of 64 MiB and three passes", 1376, 1, 2064],
    ["the same, which is compared once; others may be compared twice", 1376, 2, 2250],
  ])(
    "the dearest hash of a deployment is %s: a refusal takes as long, on a machine half as slow again",
    (_, ...known) => {
      const [dearestMs, spellings, expected] = known;
      expect(refusalMs(dearestMs, spellings)).toBe(expected);
    },
  );

  it.each([
    ["bcrypt 13", `$2b$13$${"a".repeat(53)}`, true],
    ["argon2id of 64 MiB and three passes", bySalt("$argon2id$v=19$m=65536,t=3,p=1"), true],
    ["PBKDF2 of 210,000 iterations", bySalt("$pbkdf2-sha512$i=210000"), true],
    ["argon2id of 64 MiB and five passes", bySalt("$argon2id$v=19$m=65536,t=5,p=1"), false],
    ["PBKDF2 of a million iterations", bySalt("$pbkdf2-sha256$i=1000000"), false],
  ])("%s: fits into the CPU time of a request: %s", (_, stored, isAccepted) => {
    const hash = readHash(stored);
    if (typeof hash === "string") throw new Error(hash);
    expect(findCostFault(hash) === undefined).toBe(isAccepted);
  });

  it.each(importedHashes)("%s: what it costs less than a new one is made up", (_, stored) => {
    const hash = readHash(stored) as StoredHash;
    const madeUp = missingCost(hash)?.p ?? 0;
    expect(relativeCost(hash) + madeUp / currentCost.p).toBeGreaterThanOrEqual(1);
    expect(madeUp).toBeLessThanOrEqual(currentCost.p);
  });
});
