/** **What a hook can and cannot do to a token**: results are whatever an RPC can carry, and none of them sets what the provider decides. */

import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import { plainValue, UnusableResult } from "@edge-op/shared/hooks/call-hook";
import { readHookClaims } from "@edge-op/shared/hooks/find-hook-claims";
import { type MappedValue, mappedClaims } from "@edge-op/shared/users/attributes";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const tokens = ["access_token", "id_token", "userinfo"] as const;
const ofProvider = [
  "iss",
  "sub",
  "aud",
  "exp",
  "iat",
  "nbf",
  "jti",
  "scope",
  "client_id",
  "azp",
  "acr",
  "amr",
  "cnf",
  "act",
];
const names = [...ofProvider, "may_act", "roles", "groups", "permissions", "email", "user", "sealed_sub", "__proto__"];

const anyClaim = fc.record(
  {
    name: fc.oneof(fc.constantFrom(...names, "tenant", "https://example.com/team"), fc.string()),
    value: fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true }),
    scope: fc.oneof(fc.constantFrom("openid", "profile", "read", "offline_access", "admin:users"), fc.string()),
    tokens: fc.oneof(fc.subarray([...tokens]), fc.anything()),
    resources: fc.oneof(fc.array(fc.constantFrom("https://api", "https://other")), fc.anything()),
    sub: fc.constant("root"),
  },
  { requiredKeys: ["name"] },
);
const anyResult = fc.oneof(fc.array(anyClaim, { maxLength: 3 }), fc.anything({ withNullPrototype: true }));

/** The claims, or none if the result is unusable; any other error fails the test. */
function readOrNone(result: unknown): readonly MappedValue[] {
  try {
    return readHookClaims(result);
  } catch (error) {
    if (!(error instanceof UnusableResult)) throw error;
    return [];
  }
}

describe("the result of the hook `claims`", () => {
  it("sets no claim of the provider, whatever it is, for any scope and audience", () => {
    const recipients = fc.record({
      clientId: fc.constant("c"),
      scope: fc.subarray(["openid", "profile", "read", "offline_access", "admin:users"]),
      audiences: fc.subarray(["https://api", "https://other"]),
    });
    fc.assert(
      fc.property(anyResult, recipients, fc.constantFrom(...tokens), (result, recipient, token) => {
        const own = { iss: "i", sub: "s", aud: "a", exp: 1, scope: recipient.scope.join(" "), client_id: "c" };
        const claims = mappedClaims(readOrNone(result), token, recipient);
        expect(Object.keys(claims).filter(isReservedClaim)).toEqual([]);
        expect({ ...claims, ...own }).toMatchObject(own);
        expect(Object.getPrototypeOf({ ...claims, ...own })).toBe(Object.prototype);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is released by the scope that was allowed, in the tokens and for the audiences that it names, and nowhere else", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("openid", "read"),
        fc.subarray(["openid", "read"]),
        fc.subarray([...tokens]),
        fc.constantFrom(...tokens),
        fc.option(fc.subarray(["https://api", "https://other"])),
        fc.subarray(["https://api", "https://other"]),
        (scope, allowed, inTokens, token, resources, audiences) => {
          const claim = { name: "tenant", value: 1, scope, tokens: inTokens, ...(resources && { resources }) };
          const given = mappedClaims(readHookClaims([claim]), token, { clientId: "c", scope: allowed, audiences });
          const isForAll = audiences.every((audience) => resources === null || resources.includes(audience));
          expect(given).toEqual(allowed.includes(scope) && inTokens.includes(token) && isForAll ? { tenant: 1 } : {});
        },
      ),
    );
  });

  it.each([
    ["no list", { tenant: "acme" }],
    [
      "a claim of the provider beside others",
      [
        { name: "tenant", value: 1 },
        { name: "scope", value: "admin" },
      ],
    ],
    ["an empty scope", [{ name: "tenant", value: 1, scope: "" }]],
    ["a scope that releases nothing", [{ name: "tenant", value: 1, scope: "admin:users" }]],
    ["an unknown token", [{ name: "tenant", value: 1, tokens: ["refresh_token"] }]],
    ["a misspelt member", [{ name: "tenant", value: 1, audience: ["https://api"] }]],
    ["no value", [{ name: "tenant" }]],
    ["more than 50 claims", Array.from({ length: 51 }, (_, index) => ({ name: `c${index}`, value: 1 }))],
    ["more than 4 KiB", [{ name: "tenant", value: "x".repeat(4_096) }]],
    ["a function", [{ name: "tenant", value: () => 1 }]],
    ["a date", [{ name: "tenant", value: new Date(0) }]],
    ["nesting of five", [{ name: "tenant", value: [[[[[1]]]]] }]],
  ])("is unusable as a whole with %s", (_, result) => {
    expect(() => readHookClaims(result)).toThrow(UnusableResult);
  });
});

describe("a copy of a result", () => {
  it("equals what JSON makes of it, or there is none", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        let copy: unknown;
        try {
          copy = plainValue(value, { size: 500, depth: 4 });
        } catch (error) {
          expect(error).toBeInstanceOf(UnusableResult);
          return;
        }
        expect(copy).toEqual(JSON.parse(JSON.stringify(copy)));
        expect(JSON.stringify(copy).length).toBeLessThan(4 * 500);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is bounded for a result that contains itself, or one part many times", () => {
    const cycle: unknown[] = [];
    for (let index = 0; index < 100; index += 1) cycle.push(cycle);
    expect(() => plainValue(cycle, { size: 1_000, depth: 1_000 })).toThrow("the result is too large");
    expect(() => plainValue(cycle, { size: 1_000_000, depth: 3 })).toThrow("nested too deeply");
    const shared = { text: "x".repeat(100) };
    expect(() =>
      plainValue(
        Array.from({ length: 20 }, () => shared),
        { size: 1_000, depth: 3 },
      ),
    ).toThrow("too large");
  });
});
