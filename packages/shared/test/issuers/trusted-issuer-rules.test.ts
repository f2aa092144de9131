import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issuerOf } from "../../src/issuers/check-token.ts";
import { globFault, matchesGlob } from "../../src/issuers/glob.ts";
import { matchRules, refuseClaim } from "../../src/issuers/match-rule.ts";
import type { ClaimRule, IssuerRule } from "../../src/issuers/trusted-issuer.ts";

describe("globs of claim rules", () => {
  it.each([
    ["*", "abc", true],
    ["*", "", false],
    ["*", "a/b", false],
    ["**", "a/b:c@d", true],
    ["a*c", "abc", true],
    ["a*c", "ac", false],
    ["a*c", "abcd", false],
    ["*.*", "a.b.c", true],
    ["repo:acme/*:ref:refs/heads/main", "repo:acme/app:ref:refs/heads/main", true],
    ["repo:acme/*:ref:refs/heads/main", "repo:acme/app:ref:refs/heads/x:ref:refs/heads/main", false],
    ["repo:acme/*:ref:refs/heads/**", "repo:acme/app:ref:refs/heads/feature/x", true],
    ["*@example.com", "a@example.com", true],
    ["*@example.com", "a@b@example.com", false],
    ["a**a", "aa", false],
    ["a**a", "aba", true],
    ["[a-z]?", "[a-z]?", true],
    ["[a-z]?", "b", false],
    ["a\\*", "a\\b", true],
  ])("%s on %s: %s", (pattern, text, matches) => {
    expect(matchesGlob(pattern, text)).toBe(matches);
  });

  it("agrees with an equivalent regular expression", () => {
    const part = fc.constantFrom("a", "b", "/", ":", "@", ".");
    const pattern = fc
      .array(fc.oneof(part, fc.constantFrom("*", "**")), { maxLength: 8 })
      .map((parts) => parts.join(""));
    const text = fc.array(part, { maxLength: 10 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(pattern, text, (glob, value) => {
        fc.pre(globFault(glob) === undefined);
        const source = glob.replaceAll(/\*\*|\*|[.]/g, (found) =>
          found === "**" ? "[^]+" : found === "*" ? "[^/:@]+" : "\\.",
        );
        expect(matchesGlob(glob, value)).toBe(new RegExp(`^(?:${source})$`).test(value));
      }),
      { numRuns: 2_000 },
    );
  });

  it("a pattern with many stars on a long text takes no time, and a longer text matches nothing", () => {
    expect(matchesGlob(`${"a*".repeat(128)}b`, "a".repeat(2_048))).toBe(false);
    expect(matchesGlob("**", "a".repeat(2_049))).toBe(false);
  });
});

describe("claim rules", () => {
  it("a refusal by a rule names the claim without its value", () => {
    expect(refuseClaim({ sub: "secret" }, "sub", { exact: "x" })).toBe('claim sub does not match {"exact":"x"}');
    expect(refuseClaim({}, "sub", { exact: "x" })).toBe("claim sub is missing");
  });

  it("RFC 6901 §4: ~1 and ~0 are decoded once, in this order", () => {
    const rule: ClaimRule = { exact: 1 };
    expect(refuseClaim({ "a/b": 1 }, "/a~1b", rule)).toBeUndefined();
    expect(refuseClaim({ "a~1b": 1 }, "/a~01b", rule)).toBeUndefined();
    expect(refuseClaim({ "a/b": 1 }, "/a~01b", rule)).toBeDefined();
    expect(refuseClaim({ "": { "": 1 } }, "//", rule)).toBeUndefined();
  });

  it("only own members count, at every depth", () => {
    for (const name of ["toString", "__proto__", "constructor", "/a/toString", "/a/__proto__"]) {
      expect(refuseClaim({ a: {} }, name, { one_of: ["x"] }), name).toBe(`claim ${name} is missing`);
    }
    const own = JSON.parse('{"__proto__":"x"}') as Record<string, unknown>;
    expect(refuseClaim(own, "__proto__", { exact: "x" })).toBeUndefined();
  });
});

describe("RFC 7519 §4.1.1: the issuer of a token", () => {
  it.each([
    [{ iss: "https://a.example", sub: "spiffe://b.example/x" }, "https://a.example"],
    [{ sub: "spiffe://b.example/x/y" }, "spiffe://b.example"],
    [{ iss: null, sub: "spiffe://b.example/x" }, undefined],
    [{ iss: ["https://a.example"], sub: "spiffe://b.example/x" }, undefined],
    [{ sub: "spiffe://b.example" }, undefined],
    [{ sub: "spiffe://b.example/./x" }, undefined],
    [{ sub: "spiffe://B.example/x" }, undefined],
    [{ sub: "spiffe://b.example:1/x" }, undefined],
    [{ sub: "https://b.example/x" }, undefined],
  ])("%j: %s", (claims, issuer) => {
    expect(issuerOf(claims)).toBe(issuer);
  });
});

describe("the rules of an issuer", () => {
  const rule = (rule_id: string, more: Partial<IssuerRule> = {}): IssuerRule => ({
    rule_id,
    status: "active",
    uses: ["assertion"],
    claims: { sub: { exact: "job" } },
    clients: ["app"],
    client_id: "job",
    subject: { type: "client" },
    audiences: [],
    resources: ["https://api.example"],
    scopes: ["read"],
    ...more,
  });
  const presented = { use: "assertion", clientId: undefined, audiences: [], resources: [] } as const;
  const match = (rules: readonly IssuerRule[], more = {}, claims = { sub: "job" }) =>
    matchRules(rules, claims, { ...presented, ...more }, "https://op.example.com");

  it("the first matching rule; a reason for each other one", () => {
    const rules = [rule("off", { status: "disabled" }), rule("other", { claims: { sub: { exact: "x" } } }), rule("on")];
    expect(match(rules)).toMatchObject({ kind: "rule", rule: { rule_id: "on" } });
    expect(match(rules.slice(0, 2))).toEqual({
      kind: "none",
      reason: 'no rule matches (off: the rule is disabled; other: claim sub does not match {"exact":"x"})',
    });
    expect(match([])).toEqual({ kind: "none", reason: "no rule matches ()" });
  });

  it("a target alone is the reason only if everything else matches", () => {
    expect(match([rule("on")], { resources: ["https://b.example"] }).kind).toBe("target");
    expect(match([rule("on")], { resources: ["https://b.example"] }, { sub: "x" }).kind).toBe("none");
    expect(match([rule("on", { resources: ["*"] })], { resources: ["https://op.example.com/admin"] }).kind).toBe(
      "target",
    );
  });

  it("a rule that maps to a service client is for that client, or for a request without authentication", () => {
    expect(match([rule("on")], { clientId: "app" }).kind).toBe("none");
    expect(match([rule("on")], { clientId: "job" }).kind).toBe("rule");
    const toUser = rule("user", { subject: { type: "user", sub: "alice" } });
    expect(match([toUser], { clientId: "app" }).kind).toBe("rule");
    expect(match([toUser], { clientId: "stranger" }).kind).toBe("none");
  });

  it("without client authentication, only an assertion is accepted", () => {
    for (const use of ["subject_token", "actor_token", "id_jag"] as const) {
      expect(match([rule("on", { uses: [use] })], { use }).kind, use).toBe("none");
    }
  });
});
