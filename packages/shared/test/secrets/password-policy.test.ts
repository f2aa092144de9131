import { findPasswordFault, type PasswordContext, type PasswordFault } from "@edge-op/shared/secrets/password-policy";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import commonPasswords from "../../data/common-passwords.json" with { type: "json" };

const context = (passwordMin = 15): PasswordContext => ({
  settings: { issuer: "https://login.acme-bank.example", passwordMin },
  username: "Alice.Anders",
  email: "a.anders@mail.example.com",
  service: "Acme Bank",
});

describe("NIST SP 800-63B-4 §3.1.1.2: a new password", () => {
  it.each<[password: string, fault: PasswordFault | undefined, min?: number]>([
    ["fourteen chars", "tooShort"],
    ["fifteen chars !", undefined],
    ["eight ch", undefined, 8],
    ["seven c", "tooShort", 8],
    // Code points after normalization, each one character.
    ["🐎🔋📎🦆🍋🪁🧲🎻🪐🥝🧊🪴🎈🛶", "tooShort"],
    ["🐎🔋📎🦆🍋🪁🧲🎻🪐🥝🧊🪴🎈🛶🧭", undefined],
    ["u\u0308ber den grauen".slice(0, 15), "tooShort"],
    [Array.from({ length: 64 }, (_, index) => String.fromCharCode(97 + ((index * 7) % 26))).join(""), undefined],
    ["zwölf Boxkämpfer jagen Eva ".repeat(4).slice(0, 65), undefined],
    [`${"correct horse battery staple ".repeat(9)}`.slice(0, 256), undefined],
    ["x y".repeat(86).slice(0, 257), "tooLong"],
    ["correct horse \ud800 staple", "malformed"],
    // Passwords that were accepted earlier, at the shortest length that a deployment may require.
    ["password", "common", 8],
    ["12345678", "common", 8],
    ["        ", "simple", 8],
    ["Passw0rd", "common", 8],
    ["ＰＡＳＳＷＯＲＤ", "common", 8],
    ["1qaz2wsx", "common", 8],
    // And at 15.
    ["passwordpassword", "common"],
    ["PASSWORDpassword", "common"],
    ["password12345678", "common"],
    ["123456789012345", "simple"],
    ["987654321098765", "simple"],
    ["aaaaaaaaaaaaaaa", "simple"],
    ["               ", "simple"],
    ["abcabcabcabcabc", "simple"],
    ["qwertyuiopasdfghjkl", "simple"],
    ["qwertzuiopasdfg", "simple"],
    ["abcdefghijklmnop", "simple"],
    ["alice.anders123", "personal"],
    ["ALICE.ANDERS!!!", "personal"],
    ["anders alice anders", "personal"],
    ["a.anders@mail.example.com", "personal"],
    ["acme bank acme bank", "personal"],
    ["login.acme-bank.example", "personal"],
    ["Acme Bank 2026!", "personal"],
    // Personal or common words are allowed among enough others, because the entire password counts.
    ["alice keeps nine blue owls", undefined],
    ["my bank has a green door", undefined],
    ["password of the old lighthouse", undefined],
    ["correct horse battery staple", undefined],
    ["an unlikely string of words", undefined],
    ["839201746552918", undefined],
  ])("%j: %s (at least %s)", (password, fault, min) => {
    expect(findPasswordFault(password, context(min), commonPasswords)).toBe(fault);
  });

  it("the list contains common passwords of eight characters and more in lower case, each once, sorted", () => {
    const listed = commonPasswords.slice(1, -1).split("\n");
    expect(listed.length).toBeGreaterThan(15_000);
    expect(listed).toEqual([...new Set(listed)].toSorted());
    expect(listed.every((password) => [...password].length >= 8 && password === password.toLowerCase())).toBe(true);
  });

  it("a short username only forbids itself", () => {
    const short = { ...context(), username: "al", email: undefined };
    expect(findPasswordFault("salt almonds palace", short, commonPasswords)).toBeUndefined();
  });

  it("any text gets a result in bounded time, and long random ones are accepted", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const begins = performance.now();
        findPasswordFault(text, context(8), commonPasswords);
        expect(performance.now() - begins).toBeLessThan(1_000);
      }),
    );
    const random = () =>
      [...crypto.getRandomValues(new Uint8Array(24))].map((byte) => (byte % 36).toString(36)).join("");
    for (let time = 0; time < 500; time += 1)
      expect(findPasswordFault(random(), context(), commonPasswords)).toBeUndefined();
  });
});
