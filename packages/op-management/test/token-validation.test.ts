import { createExecutionContext } from "cloudflare:test";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { type SeededClient, seedClient } from "../../../test/fixtures/seed.ts";
import type { ProviderBinding } from "../../resource-server/src/token-validation.ts";
import { createTokenValidation } from "../src/introspection/token-validation.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

useAnnouncedSetUp();

const resource = "https://api.example.com/mcp";
let fixtures: ManagementFixtures;
let app: SeededClient;
beforeEach(async () => {
  fixtures = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
});
afterEach(() => void vi.restoreAllMocks());

/** The entrypoint in the isolate of the fixtures, as a Service Binding calls it. */
function entrypoint(bindings = managementEnv, isolate = fixtures.isolate): ProviderBinding {
  return new (createTokenValidation(isolate))(createExecutionContext(), bindings);
}

describe("ADR 49: validateToken(resource, token)", () => {
  it("returns the result that Cloudflare's resource server expects, with the claims as props", async () => {
    const token = await fixtures.token({ audiences: [resource, "https://other.example.com"], acr: "pwd" });
    expect(await entrypoint().validateToken(resource, token)).toEqual({
      props: expect.objectContaining({ sub: "alice", client_id: "app", scope: "read", acr: "pwd" }),
      audience: resource,
      expiresAt: expect.any(Number),
      scope: ["read"],
      userId: "alice",
      clientId: "app",
    });
  });

  it("is null for another audience, an unknown, an expired and a refresh token; the log contains the reason for a live one", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "info").mockImplementation((line: string) => void lines.push(line));
    const other = await fixtures.token({ audiences: ["https://api.example.com"] });
    for (const token of [
      "garbage",
      "",
      await fixtures.token({ audiences: [resource], expiresAtSeconds: 1 }),
      await fixtures.refreshToken({ generation: 1, region: "wnam", shard: 0 }),
      "x".repeat(20_000),
      other,
    ]) {
      expect(await entrypoint().validateToken(resource, token), token.slice(0, 20)).toBeNull();
    }
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        event: "validation-refused",
        detail: "the token has other audiences",
        resource,
        tokenClientId: "app",
        tokenAudiences: ["https://api.example.com"],
        requestId: expect.any(String),
      },
    ]);
  });

  it("RFC 3986 §6.2.2, §6.2.3: the slash of an origin and the case of a host make no difference; any other slash does", async () => {
    const token = await fixtures.token({ audiences: ["https://api.example.com"] });
    for (const same of ["https://api.example.com/", "https://API.example.com"]) {
      expect(await entrypoint().validateToken(same, token), same).not.toBeNull();
    }
    for (const other of ["https://api.example.com/a", "https://api.example.com.evil.example"]) {
      expect(await entrypoint().validateToken(other, token), other).toBeNull();
    }
  });

  it("a bound token is valid only for a caller that checks the key; a token with an unknown binding for no caller", async () => {
    const audiences = [resource];
    const bound = await fixtures.token({ audiences, cnf: { method: "jkt", thumbprint: "t" } });
    expect(await entrypoint().validateToken(resource, bound)).toBeNull();
    const checks = { checksConfirmation: true };
    expect(await entrypoint().validateToken(resource, bound, checks)).toMatchObject({ cnf: { jkt: "t" } });
    const byCertificate = await fixtures.token({ audiences, cnf: { method: "x5t#S256", thumbprint: "t" } });
    expect(await entrypoint().validateToken(resource, byCertificate, checks)).toMatchObject({
      cnf: { "x5t#S256": "t" },
    });
    const unknown = await fixtures.token({ audiences, cnf: { method: "other", members: { kid: "1" } } });
    expect(await entrypoint().validateToken(resource, unknown, checks)).toBeNull();
  });

  it("returns a pairwise subject instead of the user", async () => {
    const token = await fixtures.token({ audiences: [resource], pairwiseSub: "pairwise" });
    expect(await entrypoint().validateToken(resource, token)).toMatchObject({
      userId: "pairwise",
      props: { sub: "pairwise" },
    });
  });

  it("RFC 7009 §2: a revoked token is null at once, in every isolate", async () => {
    const token = await fixtures.token({ audiences: [resource] });
    const elsewhere = new ManagementFixtures();
    const second = entrypoint(managementEnv, elsewhere.isolate);
    expect(await entrypoint().validateToken(resource, token)).not.toBeNull();
    expect(await second.validateToken(resource, token)).not.toBeNull();
    expect(await fixtures.revoke(token, app)).toBe(200);
    expect(await entrypoint().validateToken(resource, token)).toBeNull();
    expect(await second.validateToken(resource, token)).toBeNull();
  });

  it("arguments that are not strings are a caller's error", async () => {
    const call = entrypoint().validateToken(resource, undefined as never);
    await expect(call).rejects.toThrow(TypeError);
  });
});

describe("cost of a warm validation", () => {
  it.each([
    ["strict", { object: 0, kv: 0, d1: 0 }],
    ["direct", { object: 1, kv: 0, d1: 0 }],
  ])("%s mode: %o", async (REVOCATION_MODE, expected) => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const bindings = { ...managementEnv, REVOCATION_MODE };
    const token = await fixtures.token({ audiences: [resource] });
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await entrypoint(bindings).validateToken(resource, token);
    expect(await entrypoint(countCalls(bindings, counts)).validateToken(resource, token)).not.toBeNull();
    expect(counts).toEqual(expected);
  });
});

describe("an object that fails", () => {
  it("is an error, never null, and the log names the store", async () => {
    const token = await fixtures.token({ audiences: [resource] });
    const stub = new Proxy(
      {},
      { get: (_, method) => (method === "then" ? undefined : () => Promise.reject(new Error("overloaded"))) },
    );
    const failing = new Proxy(managementEnv.TOKEN_REVOCATION_STORE, {
      get: (target, property) => {
        if (property === "get" || property === "getByName") return () => stub;
        const value = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const lines: string[] = [];
    for (const level of ["info", "warn", "error"] as const) {
      vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(line));
    }
    const cold = entrypoint({ ...managementEnv, TOKEN_REVOCATION_STORE: failing }, new ManagementFixtures().isolate);
    await expect(cold.validateToken(resource, token)).rejects.toThrow(
      "temporarily_unavailable: A backend did not respond. Try again.",
    );
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ event: "request", endpoint: "validateToken", status: 503, outcome: "unavailable" }),
    );
  });
});
