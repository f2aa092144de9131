import { isReservedClaim } from "@edge-op/protocol/oauth/reserved-claims";
import { attributeDocumentSchema } from "@edge-op/shared/users/attribute-schema";
import { type MappedValue, mappedClaims, mappedValues, storedAttributes } from "@edge-op/shared/users/attributes";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const tokens = ["access_token", "id_token", "userinfo"] as const;

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,8}$/);
const anyName = fc.oneof(
  word,
  fc.constantFrom("iss", "sub", "aud", "exp", "scope", "client_id", "cnf", "act", "roles"),
);

describe("the mapping of attributes to claims", () => {
  it("gives no claim of this provider another value, whatever is declared or stored", () => {
    fc.assert(
      fc.property(anyName, fc.constantFrom(...tokens), fc.string(), (name, token, value) => {
        const claim = { name, scope: "openid", tokens: [...tokens] };
        const document = { type: "string", title: "t", claim };
        const isAccepted = attributeDocumentSchema.safeParse(document).success;
        expect(isAccepted).toBe(!isReservedClaim(name));
        // A row that something else wrote.
        const stored = storedAttributes.query.read([{ name: "a", document: JSON.stringify(document) }])!;
        const claims = mappedClaims(mappedValues({ a: value }, stored), token, { clientId: "c", scope: ["openid"] });
        expect(claims).toEqual(isReservedClaim(name) ? {} : { [name]: value });
      }),
    );
  });

  it("leaves out a value of another type than is declared", () => {
    const document = JSON.stringify({ type: "strings", title: "t", claim: { name: "a", scope: "s", tokens } });
    const stored = storedAttributes.query.read([{ name: "a", document }])!;
    expect(mappedValues({ a: "text" }, stored)).toEqual([]);
    expect(mappedValues({ a: ["text"] }, stored)).toMatchObject([{ value: ["text"] }]);
    expect(mappedValues({}, stored)).toEqual([]);
  });

  const rule = { name: "a", scope: "s", tokens: ["access_token"] } satisfies MappedValue["claim"];
  const recipient = { clientId: "c", scope: ["s"], audiences: ["https://one", "https://two"] };
  it.each<[string, Partial<MappedValue["claim"]>, object, boolean]>([
    ["its scope value", {}, {}, true],
    ["no scope value", {}, { scope: ["other"] }, false],
    ["a single request", {}, { scope: [], requested: ["a"] }, true],
    ["its client", { clients: ["c"] }, {}, true],
    ["another client, also by a single request", { clients: ["d"] }, { requested: ["a"] }, false],
    ["all of its audiences", { resources: ["https://one", "https://two"] }, {}, true],
    ["one audience that is not its own", { resources: ["https://one"] }, {}, false],
    ["a token that it does not name", { tokens: ["userinfo"] }, {}, false],
  ])("%s", (_, claim, to, isGiven) => {
    const mapped = [{ claim: { ...rule, ...claim }, value: 1 }];
    expect(mappedClaims(mapped, "access_token", { ...recipient, ...to })).toEqual(isGiven ? { a: 1 } : {});
  });
});
