import { encodeBase32, encodeUtf8 } from "@edge-op/protocol/encoding/bytes";
import { describe, expect, it } from "vitest";
import { findRecoveryCode, makeRecoveryCodes, readRecoveryCode } from "../src/factors/recovery-codes.ts";
import { matchTotp, otpauthUri, totpCode, totpStep } from "../src/factors/totp.ts";

/** The key of RFC 6238 appendix B. */
const secret = encodeUtf8("12345678901234567890");

describe("RFC 6238 appendix B", () => {
  it.each([
    [59, "94287082"],
    [1111111109, "07081804"],
    [1111111111, "14050471"],
    [1234567890, "89005924"],
    [2000000000, "69279037"],
    [20000000000, "65353130"],
  ])("at %i seconds the code is %s", async (seconds, code) => {
    expect(await totpCode(secret, totpStep(seconds * 1000), 8)).toBe(code);
  });

  it("RFC 4226 appendix D: the six digits of the first counters", async () => {
    const codes = await Promise.all([0, 1, 2, 9].map((step) => totpCode(secret, step)));
    expect(codes).toEqual(["755224", "287082", "359152", "520489"]);
  });
});

describe("RFC 6238 §5.2: which codes are accepted", () => {
  const nowMs = 1_000_000_000_000;
  const now = totpStep(nowMs);
  const match = async (step: number, lastStep = 0) =>
    matchTotp(secret, await totpCode(secret, step), { nowMs, lastStep });

  it("those of the present 30 seconds, the ones before and the ones after", async () => {
    const accepted = await Promise.all([-2, -1, 0, 1, 2].map((offset) => match(now + offset)));
    expect(accepted).toEqual([undefined, now - 1, now, now + 1, undefined]);
  });

  it("none that was accepted before, and none of an earlier step", async () => {
    expect(await match(now, now)).toBeUndefined();
    expect(await match(now - 1, now)).toBeUndefined();
    expect(await match(now + 1, now)).toBe(now + 1);
  });
});

it("RFC 4648 §10: base32, and the URI that apps read", () => {
  expect(encodeBase32(encodeUtf8("fooba"))).toBe("MZXW6YTB");
  expect(otpauthUri(secret, { issuer: "Edge: OP", account: "alice@example.com" })).toBe(
    "otpauth://totp/Edge%20%20OP:alice%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Edge%20%20OP",
  );
});

describe("NIST SP 800-63B-4 §3.1.2.2: recovery codes", () => {
  it("are eight different ones of 120 bits, found in any spelling by their owner alone", async () => {
    const { codes, hashes } = await makeRecoveryCodes("alice");
    expect(new Set(codes).size).toBe(8);
    for (const [index, code] of codes.entries()) {
      expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/);
      const typed = readRecoveryCode(
        ` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")} `,
      );
      expect(await findRecoveryCode("alice", hashes, typed!)).toBe(index);
      expect(await findRecoveryCode("bob", hashes, typed!)).toBeUndefined();
    }
  });

  it.each(["", "123456", "AAAA-BBBB", "U".repeat(24), "0".repeat(25)])("%j is none", (text) => {
    expect(readRecoveryCode(text)).toBeUndefined();
  });
});
