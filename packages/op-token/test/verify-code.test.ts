import type { AuthorizationCodePayload } from "@edge-op/shared/codes/authorization-code-rpc";
import { describe, expect, it } from "vitest";
import { findMismatch, type PresentedProofs, type RequestedUse, refuseUse } from "../src/grants/authorization-code.ts";

const address = { generation: 1, region: "wnam", shard: 2 };
const payload: AuthorizationCodePayload = {
  grant: { grantId: "grant", address, grantCreatedAtMs: 0 },
  ...{ clientId: "app", sub: "alice", pairwiseSub: undefined, sid: "s", authTimeSeconds: 1, acr: "1", amr: ["pwd"] },
  redirectUri: "https://app.example/cb",
  codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  ...{ scope: ["openid"], resources: ["https://a.example"], nonce: "n", claims: undefined, cnf: undefined },
  ...{ authorizationDetails: undefined, refreshable: true, familyAddress: address },
  ...{ grantEndsAtMs: 1_000, tokenLifetimeSeconds: 300 },
};
const proofs: PresentedProofs = { clientId: "app", cnf: undefined, codeChallenge: payload.codeChallenge };
const use: RequestedUse = {
  registeredUris: [payload.redirectUri, "https://app.example/other"],
  ...{ redirectUri: payload.redirectUri, resources: undefined, authorizationDetails: undefined },
  targets: {
    ...{ audiences: ["*"], issuer: "https://op.example.com", openid: true },
    checked: { "https://a.example": "unknown" },
  },
};

it("a code that is presented with everything it is bound to may be spent", () => {
  expect(findMismatch(payload, proofs)).toBeUndefined();
  expect(refuseUse(payload, use)).toBeUndefined();
  expect(refuseUse(payload, { ...use, resources: ["https://a.example"] })).toBeUndefined();
});

describe("RFC 9700 §4.5: what proves the client", () => {
  const cnf = { method: "jkt", thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } as const;

  it.each<[string, Partial<AuthorizationCodePayload>, Partial<PresentedProofs>, string | undefined]>([
    ["another client", {}, { clientId: "other" }, "code-of-other-client"],
    ["another verifier", {}, { codeChallenge: "x" }, "verifier-wrong"],
    ["no verifier", {}, { codeChallenge: undefined }, "verifier-missing"],
    ["a verifier for a code without a challenge", { codeChallenge: undefined }, {}, "verifier-unexpected"],
    ["a code without a challenge", { codeChallenge: undefined }, { codeChallenge: undefined }, undefined],
    ["no proof of a bound code", { cnf }, {}, "code-of-other-key"],
    ["another key", { cnf }, { cnf: { ...cnf, thumbprint: "another" } }, "code-of-other-key"],
    ["another method", { cnf }, { cnf: { ...cnf, method: "x5t#S256" } }, "code-of-other-key"],
    ["the bound key", { cnf }, { cnf }, undefined],
  ])("%s", (_, bound, presented, reason) => {
    expect(findMismatch({ ...payload, ...bound }, { ...proofs, ...presented })).toBe(reason);
  });
});

it.each<[string, Partial<RequestedUse>, string]>([
  ["another redirect_uri", { redirectUri: "https://app.example/cb/" }, "invalid_grant"],
  ["no redirect_uri, with several registered", { redirectUri: undefined }, "invalid_request"],
  ["a resource that was not authorized", { resources: ["https://b.example"] }, "invalid_target"],
  ["a resource whose rule is not known", { targets: { ...use.targets, checked: {} } }, "unchecked_resources"],
])("what a client may not ask for: %s", (_, asked, kind) => {
  expect(refuseUse(payload, { ...use, ...asked })).toMatchObject({ kind });
});

describe("OAuth 2.1 §10.2: a redemption without redirect_uri", () => {
  const omitted = { ...use, redirectUri: undefined, registeredUris: [payload.redirectUri] };

  it("is accepted with PKCE, where one is registered", () => {
    expect(refuseUse(payload, omitted)).toBeUndefined();
    expect(refuseUse(payload, { ...omitted, redirectUri: "" })).toMatchObject({ kind: "invalid_grant" });
  });

  it("is refused without PKCE", () => {
    const refusal = { kind: "invalid_request", reason: "code-redirect-uri-missing" };
    expect(refuseUse({ ...payload, codeChallenge: undefined }, omitted)).toEqual(refusal);
  });
});
