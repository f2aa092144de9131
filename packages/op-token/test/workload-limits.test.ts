import { countCalls } from "@edge-op/shared/http/count-calls";
import { type IssuerRule, rulesOfParties } from "@edge-op/shared/issuers/trusted-issuer";
import type { TokenEnv } from "@edge-op/workers/env";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { call } from "../../../test/fixtures/call.ts";
import { seedClient, seedIssuer } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { bearerGrant, countingRateLimit, createTokenFixtures, tokenEnv } from "./fixtures/token-fixtures.ts";

useAnnouncedSetUp();

/** Assertions without client authentication: the cost of a stranger who sends many of them. */
const issuer = "https://issuer.example.com";
const key = await generateClientKey();
let app: ReturnType<typeof createApp>;
let bindings: TokenEnv;

beforeEach(async () => {
  await createTokenFixtures();
  await seedClient(tokenEnv, "job", { token_endpoint_auth_method: "none", grant_types: [bearerGrant] });
  const rule: IssuerRule = {
    rule_id: "main",
    status: "active",
    uses: ["assertion"],
    claims: { sub: { exact: "job" } },
    client_id: "job",
    subject: { type: "client" },
    audiences: ["https://api.example.com"],
    resources: [],
    scopes: ["read"],
  };
  await seedIssuer(tokenEnv, issuer, key, { rules: [rule] });
  const { FAILED_AUTHENTICATION_RATE_LIMIT: _, CLIENT_RATE_LIMIT: __, ...unlimited } = tokenEnv;
  bindings = { ...unlimited, TRUST_FORWARDED_HEADERS: "true" };
  app = createApp(createIsolate());
  for (let warmUp = 0; warmUp < 3; warmUp += 1) expect((await attempt(issuer)).status).toBe(200);
});

async function attempt(iss: string, env: TokenEnv = bindings, claims = {}): Promise<Response> {
  const assertion = await signAssertion(key, iss, { sub: "job", ...claims });
  return call(app, env, "/token", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", "cf-connecting-ip": "192.0.2.1" },
    body: new URLSearchParams({ grant_type: bearerGrant, assertion }).toString(),
  });
}

describe("RFC 6585 §4: assertions without client authentication", () => {
  it("over the limit of its address, an unknown issuer is refused before any look-up; a known issuer's token still works", async () => {
    const limiter: RateLimit = { limit: async () => ({ success: false }) };
    const limited = { ...bindings, FAILED_AUTHENTICATION_RATE_LIMIT: limiter };
    expect((await attempt("https://unknown.example.com", limited)).status).toBe(400);
    const counts = { object: 0, kv: 0, d1: 0 };
    for (const iss of ["https://unknown1.example.com", "https://unknown2.example.com"]) {
      expect((await attempt(iss, countCalls(limited, counts))).status).toBe(429);
    }
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
    expect((await attempt(issuer, limited)).status).toBe(200);
  });

  it("tokens that no rule accepts count too, and valid ones do not", async () => {
    const { counted, limiter } = countingRateLimit();
    const limited = { ...bindings, FAILED_AUTHENTICATION_RATE_LIMIT: limiter };
    expect((await attempt(issuer, limited)).status).toBe(200);
    expect(counted).toEqual([]);
    expect((await attempt(issuer, limited, { sub: "other" })).status).toBe(400);
    expect(counted).toEqual([1]);
  });
});

it("the audit names the issuer and the rule of a token; for an ordinary token none", async () => {
  const isolate = createIsolate();
  const audited = createApp(isolate);
  const note = vi.spyOn(isolate.reports, "noteIssued");
  const assertion = await signAssertion(key, issuer, { sub: "job" });
  const form = new URLSearchParams({ grant_type: bearerGrant, assertion });
  const response = await call(audited, bindings, "/token", { method: "POST", body: form });
  expect(response.status).toBe(200);
  expect(note.mock.calls.map(([, describeToken]) => describeToken())).toMatchObject([
    { grantType: bearerGrant, clientId: "job", issuerRules: ["seeded:main"] },
  ]);
  expect(rulesOfParties(["app", "https://agent.example.com/x", "issuer:seeded", 1, undefined])).toEqual([]);
});
