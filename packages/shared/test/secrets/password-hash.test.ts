import { hashPassword, isOutdatedHash, verifyPassword } from "@edge-op/shared/secrets/password-hash";
import { describe, expect, it } from "vitest";

/** scrypt("correct horse", 16 zero bytes, N = 2^14, r = 8, p = 5), computed by Node's crypto.scryptSync. */
const foreign = "$scrypt$ln=14,r=8,p=5$AAAAAAAAAAAAAAAAAAAAAA$kSQ1bJYPD8Jgs7OVgip9Bc7Nv0GJkSsREzrHDUV_bZ4";

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

  it("NIST SP 800-63B §3.1.1.2: composed and decomposed spellings are one password", async () => {
    expect(await verifyPassword("cafe\u0301", await hashPassword("caf\u00e9"))).toBe(true);
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
    ["another function", "$argon2id$v=19$m=65536$c2FsdA$aGFzaA"],
    ["no hash", "$scrypt$ln=14,r=8,p=5$AAAAAAAAAAAAAAAAAAAAAA$"],
    ["a cost beyond an isolate's memory", foreign.replace("ln=14", "ln=20")],
  ])("a stored value with %s is a fault, not a refusal", async (_, stored) => {
    await expect(verifyPassword("guess", stored)).rejects.toThrow("a stored password hash");
  });

  it("a hash with another cost is outdated and still verifies", async () => {
    expect(isOutdatedHash(foreign)).toBe(false);
    expect(isOutdatedHash(foreign.replace("p=5", "p=1"))).toBe(true);
  });
});
