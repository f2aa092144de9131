import { readConfirmation } from "@edge-op/protocol/oauth/confirmation";
import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { call, postForm } from "../../../test/fixtures/call.ts";
import { seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { UserinfoFixtures, userinfoEnv } from "./fixtures/userinfo-fixtures.ts";

let fixtures: UserinfoFixtures;
beforeEach(async () => {
  fixtures = new UserinfoFixtures();
  await seedClient(userinfoEnv, "app");
  await seedUser(userinfoEnv, "alice");
});

it.each([
  ["RFC 9449 §7.2: a DPoP-bound token", { jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }],
  ["RFC 8705 §3: a certificate-bound token", { "x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2" }],
  ["RFC 7800 §3.1: a token with a confirmation of unknown members", { kid: "1" }],
  ["a token with an empty confirmation", {}],
])("%s is refused as Bearer", async (_, claim) => {
  const token = await fixtures.token({ cnf: readConfirmation(claim) });
  await expectRefusal(await fixtures.get(token), 401, "invalid_token", 'Bearer error="invalid_token"');
});

it("RFC 7800 §3.1: a token whose cnf is not an object is refused", async () => {
  const claims = decodeJwt(await fixtures.token());
  const token = await fixtures.within((context) =>
    fixtures.isolate.keyRing.sign(context, { alg: "ES256", typ: "at+jwt", claims: { ...claims, cnf: "key" } }),
  );
  await expectRefusal(await fixtures.get(token), 401, "invalid_token", 'Bearer error="invalid_token"');
});

describe("RFC 6750 §2: presenting the token", () => {
  it("§2.1: in the header, of a GET or of a POST without a body; the scheme is case-insensitive", async () => {
    const token = await fixtures.token();
    for (const [method, scheme] of [
      ["GET", "Bearer"],
      ["POST", "Bearer"],
      ["GET", "bearer"],
      ["GET", "BEARER"],
    ]) {
      const headers = { authorization: `${scheme} ${token}` };
      const response = await call(fixtures.app, userinfoEnv, "/userinfo", { method: method!, headers });
      expect(await response.json(), `${method} ${scheme}`).toEqual({ sub: "alice" });
    }
  });

  it("§2.2: in a form", async () => {
    const response = await postForm(fixtures.app, userinfoEnv, "/userinfo", { access_token: await fixtures.token() });
    expect(await response.json()).toEqual({ sub: "alice" });
  });

  it("§2: in header and form at once is refused", async () => {
    const token = await fixtures.token();
    const response = await call(fixtures.app, userinfoEnv, "/userinfo", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ access_token: token }).toString(),
    });
    await expectRefusal(response, 400, "invalid_request", 'Bearer error="invalid_request"');
  });

  it.each(["GET", "POST"])(
    "RFC 9700 §4.3.2: in the URL of a %s is refused, even beside a good header",
    async (method) => {
      const token = await fixtures.token();
      const alone = await call(fixtures.app, userinfoEnv, `/userinfo?access_token=${token}`, { method });
      await expectRefusal(alone, 400, "invalid_request", 'Bearer error="invalid_request"');
      const headers = { authorization: `Bearer ${token}` };
      const beside = await call(fixtures.app, userinfoEnv, `/userinfo?access_token=${token}`, { method, headers });
      await expectRefusal(beside, 400, "invalid_request", 'Bearer error="invalid_request"');
    },
  );

  it("RFC 6750 §3.1: a repeated access_token is invalid_request, with the challenge", async () => {
    const response = await call(fixtures.app, userinfoEnv, "/userinfo", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "access_token=a&access_token=b",
    });
    await expectRefusal(response, 400, "invalid_request", 'Bearer error="invalid_request"');
  });

  describe.each([
    ["JSON", "application/json", (token: string) => JSON.stringify({ access_token: token })],
    ["broken JSON", "application/json", () => "{"],
    ["multipart", "multipart/form-data; boundary=x", (token: string) => `--x\r\n\r\n${token}\r\n--x--`],
    ["text", "text/plain;charset=UTF-8", (token: string) => `access_token=${token}`],
    ["a JWT", "application/jwt", (token: string) => token],
  ])("a body of another type (%s)", (_, type, bodyOf) => {
    const post = (token: string, headers: Record<string, string> = {}) =>
      call(fixtures.app, userinfoEnv, "/userinfo", {
        method: "POST",
        headers: { ...headers, "content-type": type },
        body: bodyOf(token),
      });

    it("RFC 6750 §2.1: the token of the header is used, and the body is not read", async () => {
      const token = await fixtures.token();
      const response = await post(token, { authorization: `Bearer ${token}` });
      expect([response.status, await response.json()]).toEqual([200, { sub: "alice" }]);
    });

    it("RFC 6750 §2.2, §3.1: presents no token, so the challenge names no error", async () => {
      const challenges = 'Bearer realm="oauth", DPoP algs="ES256 EdDSA PS256 RS256"';
      await expectRefusal(await post(await fixtures.token()), 401, "invalid_token", challenges);
    });
  });

  it("RFC 6750 §3.1: without credentials the challenge names no error", async () => {
    const challenges = 'Bearer realm="oauth", DPoP algs="ES256 EdDSA PS256 RS256"';
    await expectRefusal(await call(fixtures.app, userinfoEnv, "/userinfo"), 401, "invalid_token", challenges);
    await expectRefusal(await postForm(fixtures.app, userinfoEnv, "/userinfo", {}), 401, "invalid_token", challenges);
    const basic = await call(fixtures.app, userinfoEnv, "/userinfo", { headers: { authorization: "Basic YTpi" } });
    await expectRefusal(basic, 401, "invalid_token", challenges);
  });

  it("an oversized token is 413 before anything is parsed", async () => {
    const response = await postForm(fixtures.app, userinfoEnv, "/userinfo", { access_token: "a".repeat(20_000) });
    expect(response.status).toBe(413);
  });

  it.each(["PUT", "DELETE", "PATCH"])("RFC 9110 §15.5.6: %s is not allowed", async (method) => {
    const response = await call(fixtures.app, userinfoEnv, "/userinfo", { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("Allow")).toBe("GET, HEAD, POST, OPTIONS");
  });
});

describe("RFC 6750 §3.1 refused tokens", () => {
  it("every token that is not a live access token of this provider is invalid_token, without a reason", async () => {
    const live = await fixtures.token();
    const idToken = await fixtures.within((context) =>
      fixtures.isolate.keyRing.sign(context, {
        alg: "ES256",
        typ: "JWT",
        claims: { iss: "https://op.example.com", sub: "alice" },
      }),
    );
    const bodies = new Set<string>();
    for (const token of [
      "garbage",
      live.slice(0, -1),
      `${live}=`,
      idToken,
      await fixtures.token({ expiresAtSeconds: Math.floor(Date.now() / 1000) }),
      await fixtures.token({ sub: "nobody" }),
      await fixtures.token({ clientId: "nobody" }),
      await fixtures.token({ forUser: false }),
      // RFC 9068 §4: a token that its client received for someone else.
      await fixtures.token({ audiences: ["https://api.example.com"] }),
      await fixtures.token({ audiences: ["https://op.example.com/", "https://op.example.com/admin"] }),
    ]) {
      const response = await fixtures.get(token);
      bodies.add(await response.clone().text());
      await expectRefusal(response, 401, "invalid_token", 'Bearer error="invalid_token"');
    }
    expect(bodies.size).toBe(1);
  });

  it("ADR 11: a live token whose generation is not in the table is 503, because D1 may have lost it", async () => {
    const address = { generation: 7, region: "wnam", shard: 0 };
    const response = await fixtures.get(await fixtures.token({ id: { address, grantId: "g", random: "r" } }));
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
  });

  it("a token without openid is insufficient_scope, and the challenge names the scope", async () => {
    const response = await fixtures.get(await fixtures.token({ scope: ["profile", "email"] }));
    await expectRefusal(response, 403, "insufficient_scope", 'Bearer error="insufficient_scope", scope="openid"');
  });

  it.each(["strict", "direct"])(
    "a revoked token is refused once /revoke has responded, also by a warm isolate (%s)",
    async (mode) => {
      const bindings = { ...userinfoEnv, REVOCATION_MODE: mode };
      const token = await fixtures.token();
      for (let warmUp = 0; warmUp < 3; warmUp += 1) expect((await fixtures.get(token, bindings)).status).toBe(200);
      await fixtures.revokeGrantOf(token);
      await expectRefusal(await fixtures.get(token, bindings), 401, "invalid_token", 'Bearer error="invalid_token"');
      await expectRefusal(
        await new UserinfoFixtures().get(token, bindings),
        401,
        "invalid_token",
        'Bearer error="invalid_token"',
      );
    },
  );

  it.each(["strict", "direct"])(
    "a user suspended meanwhile is refused by a warm isolate, and found again after (%s)",
    async (mode) => {
      const bindings = { ...userinfoEnv, REVOCATION_MODE: mode };
      const token = await fixtures.token();
      for (let warmUp = 0; warmUp < 3; warmUp += 1) expect((await fixtures.get(token, bindings)).status).toBe(200);
      await fixtures.change("user", "alice", "UPDATE users SET status = 'suspended' WHERE sub = 'alice'");
      await expectRefusal(await fixtures.get(token, bindings), 401, "invalid_token", 'Bearer error="invalid_token"');
      await fixtures.change("user", "alice", "UPDATE users SET status = 'active' WHERE sub = 'alice'");
      expect((await fixtures.get(token, bindings)).status).toBe(200);
    },
  );

  it("a client that is disabled meanwhile is refused by a warm isolate", async () => {
    const token = await fixtures.token();
    for (let warmUp = 0; warmUp < 3; warmUp += 1) expect((await fixtures.get(token)).status).toBe(200);
    await fixtures.change("client", "app", "UPDATE clients SET status = 'disabled' WHERE client_id = 'app'");
    await expectRefusal(await fixtures.get(token), 401, "invalid_token", 'Bearer error="invalid_token"');
  });
});

describe("stores that do not respond", () => {
  const down = () => Promise.reject(new Error("down"));
  /** Every call fails; `then` is not a call, because it would make the store itself a promise. */
  const failing = new Proxy({}, { get: (_, name) => (name === "then" ? undefined : down) });
  const unreachable = {
    idFromName: () => ({}),
    getByName: () => failing,
  } as unknown as typeof userinfoEnv.TOKEN_REVOCATION_STORE;

  const statement = { bind: () => statement, first: down, all: down };
  const brokenDatabase = { prepare: () => statement, batch: down } as unknown as D1Database;

  it.each([
    ["revocation shard", { TOKEN_REVOCATION_STORE: unreachable }],
    ["D1, with nothing in KV", { DB: brokenDatabase }],
  ])("%s: 503 with Retry-After, never a statement about the token", async (_, broken) => {
    const token = await fixtures.token();
    const cold = new UserinfoFixtures();
    const response = await cold.get(token, { ...userinfoEnv, ...broken });
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).toBe("1");
    expect((await cold.get(token)).status).toBe(200);
  });

  it("KV: read as a miss", async () => {
    const token = await fixtures.token();
    const response = await new UserinfoFixtures().get(token, {
      ...userinfoEnv,
      CACHE: failing as unknown as KVNamespace,
    });
    expect(response.status).toBe(200);
  });
});

async function expectRefusal(response: Response, status: number, error: string, challenge: string): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get("WWW-Authenticate")).toBe(challenge);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
  expect(await response.json()).toMatchObject({ error });
}
