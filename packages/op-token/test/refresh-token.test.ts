import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { objectName, parseRefreshToken, parseTokenId } from "@edge-op/shared/storage/shard-address";
import type { User } from "@edge-op/shared/users/user";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { SeededClient } from "../../../test/fixtures/seed.ts";
import { requireActive } from "../src/issuing/find-active-user.ts";
import { LoginFixtures, seedApp, seedPeople, tokensOf } from "./fixtures/login-fixtures.ts";
import { claimsOf, errorOf, tokenEnv } from "./fixtures/token-fixtures.ts";
import { losingResults, unreachable } from "./fixtures/unreachable.ts";

let fixtures: LoginFixtures;
let app: SeededClient;
beforeEach(async () => {
  fixtures = new LoginFixtures();
  await seedPeople();
  app = await seedApp();
});

async function isGrantRevoked(accessToken: string): Promise<boolean> {
  const { address, grantId } = parseTokenId(String(claimsOf(accessToken)["jti"]))!;
  const shard = tokenEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", address));
  const { revoked } = await shard.check([grantKey(grantId)], [], -1);
  return revoked.length > 0;
}

it("RFC 6749 §6: a refresh returns a new access token of the same grant and a new refresh token", async () => {
  const first = await fixtures.signIn(app);
  const second = await tokensOf(await fixtures.refresh(first.refresh_token, app));
  expect(second).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "openid email offline_access" });
  expect(parseRefreshToken(second.refresh_token)).toMatchObject({ version: 1 });
  const [before, after] = [claimsOf(first.access_token), claimsOf(second.access_token)];
  expect(after["jti"]).not.toBe(before["jti"]);
  expect(parseTokenId(String(after["jti"]))!.grantId).toBe(parseTokenId(String(before["jti"]))!.grantId);
});

it("OIDC Core §12.2: the ID token of a refresh is about the same login and has no nonce", async () => {
  const first = await fixtures.signIn(app);
  const idToken = claimsOf((await tokensOf(await fixtures.refresh(first.refresh_token, app))).id_token);
  expect(idToken).toMatchObject({ sub: "alice", aud: "app", azp: "app", auth_time: 1_700_000_000, sid: "session-1" });
  expect(idToken).not.toHaveProperty("nonce");
  expect(idToken).not.toHaveProperty("c_hash");
});

it("§3 R2: a retry gets the same refresh token and the same access token id, by any isolate", async () => {
  const { refresh_token: token } = await fixtures.signIn(app);
  const first = await tokensOf(await fixtures.refresh(token, app));
  const again = await tokensOf(await new LoginFixtures().refresh(token, app));
  expect(again.refresh_token).toBe(first.refresh_token);
  const { jti, iat, exp } = claimsOf(first.access_token);
  expect(claimsOf(again.access_token)).toMatchObject({ jti, iat, exp });
});

it("ADR 12: the rules of the resources belong to the decision: a client disabled before they are read gets nothing", async () => {
  const { refresh_token: token } = await fixtures.signIn(app);
  const { resources } = fixtures.isolate;
  vi.spyOn(resources, "findAll").mockImplementationOnce(async (context, identifiers) => {
    await announce("client", "app", "UPDATE clients SET status = 'disabled' WHERE client_id = 'app'");
    // Another request of this isolate learns of the change.
    await fixtures.refresh("unknown", app);
    return resources.findAll(context, identifiers);
  });
  expect(await errorOf(await fixtures.refresh(token, app))).toBe("401 invalid_client");
  await announce("client", "app", "UPDATE clients SET status = 'active' WHERE client_id = 'app'");
  const next = await tokensOf(await fixtures.refresh(token, app));
  expect(parseRefreshToken(next.refresh_token)).toMatchObject({ version: 1 });
});

/** Commits a change and announces it on every shard. */
async function announce(kind: string, id: string, ...statements: readonly string[]): Promise<void> {
  const { DB, TOKEN_REVOCATION_STORE } = tokenEnv;
  const change = DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, 0) RETURNING version");
  const [row] = await DB.batch<{ version: number }>([
    change.bind(kind, id),
    ...statements.map((statement) => DB.prepare(statement)),
  ]);
  const cv = row!.results[0]!.version;
  const names = Array.from({ length: 8 }, (_, shard) => `revocation:g1:wnam:${shard}`);
  await Promise.all(names.map((name) => TOKEN_REVOCATION_STORE.getByName(name).raise({ cv }, true)));
}

describe("ADR 28: after a day, a cut-off is only in the records", () => {
  /** The cut-off's change, and the row that is read with the record; no shard has the cut-off. */
  async function cutOffInRecords(key: string): Promise<void> {
    const { DB, TOKEN_REVOCATION_STORE } = tokenEnv;
    const change = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', ?1, ?2) RETURNING version";
    const [row] = await DB.batch<{ version: number }>([
      DB.prepare(change).bind(key, Date.now()),
      recordNewest(DB, { key, untilMs: cutOffUntilMs(Date.now()) }),
    ]);
    const cv = row!.results[0]!.version;
    const names = Array.from({ length: 8 }, (_, shard) => `revocation:g1:wnam:${shard}`);
    await Promise.all(names.map((name) => TOKEN_REVOCATION_STORE.getByName(name).raise({ cv }, true)));
  }

  it.each(["nb:sub:alice", "nb:client:app", "nb:tenant:default"])(
    "%s: refresh tokens of before are refused, by warm and cold isolates; those of after are not",
    async (key) => {
      const before = await fixtures.signIn(app);
      await cutOffInRecords(key);
      for (const isolate of [fixtures, new LoginFixtures()]) {
        expect(await errorOf(await isolate.refresh(before.refresh_token, app))).toBe("400 invalid_grant");
      }
      const after = await fixtures.signIn(app);
      for (const isolate of [fixtures, new LoginFixtures()]) {
        const { status } = await isolate.refresh(after.refresh_token, app);
        expect(status).toBe(200);
      }
    },
  );

  it("another user's or client's cut-off revokes nothing", async () => {
    const { refresh_token: token } = await fixtures.signIn(app);
    await cutOffInRecords("nb:sub:bob");
    await cutOffInRecords("nb:client:other");
    expect((await fixtures.refresh(token, app)).status).toBe(200);
  });
});

it("§3 R3: an older use ends the family and the grant before the response", async () => {
  const first = await fixtures.signIn(app);
  const second = await tokensOf(await fixtures.refresh(first.refresh_token, app));
  const third = await tokensOf(await fixtures.refresh(second.refresh_token, app));
  expect(await isGrantRevoked(third.access_token)).toBe(false);
  expect(await errorOf(await fixtures.refresh(first.refresh_token, app))).toBe("400 invalid_grant");
  expect(await isGrantRevoked(third.access_token)).toBe(true);
  expect(await errorOf(await fixtures.refresh(third.refresh_token, app))).toBe("400 invalid_grant");
});

it("§3: a second sign-in is a separate family", async () => {
  const [phone, laptop] = [await fixtures.signIn(app), await fixtures.signIn(app)];
  const next = await tokensOf(await fixtures.refresh(phone.refresh_token, app));
  await tokensOf(await fixtures.refresh(next.refresh_token, app));
  await fixtures.refresh(phone.refresh_token, app);
  expect((await fixtures.refresh(laptop.refresh_token, app)).status).toBe(200);
});

it("RFC 6749 §6: scope narrows one access token and never widens it", async () => {
  const first = await fixtures.signIn(app, { scope: ["openid", "offline_access"] });
  const wider = { scope: "openid email" };
  expect(await errorOf(await fixtures.refresh(first.refresh_token, app, wider))).toBe("400 invalid_scope");
  expect(await errorOf(await fixtures.refresh(first.refresh_token, app, { scope: "admin" }))).toBe("400 invalid_scope");
  const narrow = await tokensOf(await fixtures.refresh(first.refresh_token, app, { scope: "offline_access" }));
  expect(narrow).toMatchObject({ scope: "offline_access" });
  expect(narrow).not.toHaveProperty("id_token");
  expect(await tokensOf(await fixtures.refresh(narrow.refresh_token, app))).toMatchObject({
    scope: "openid offline_access",
  });
});

it("a forged, foreign, truncated or extended refresh token is refused and leaves the family unchanged", async () => {
  const other = await seedApp({}, "other");
  const { refresh_token: token, access_token: accessToken } = await fixtures.signIn(app);
  expect(await errorOf(await fixtures.refresh(token, other))).toBe("400 invalid_grant");
  for (const text of [
    token.slice(0, -1),
    `${token}A`,
    token.replace(".0.", ".1."),
    accessToken,
    "rt",
    "rt.g9.wnam.0.a.0.b",
  ]) {
    expect(await errorOf(await fixtures.refresh(text, app)), text).toBe("400 invalid_grant");
  }
  expect((await fixtures.refresh(token, app)).status).toBe(200);
});

it("RFC 6749 §5.2: a client without the refresh_token grant is refused", async () => {
  await seedApp({ grant_types: ["authorization_code"] }, "plain");
  const plain = { clientId: "plain", clientSecret: "secret-of-plain" };
  const { refresh_token: token } = await fixtures.signIn(app);
  expect(await errorOf(await fixtures.refresh(token, plain))).toBe("400 unauthorized_client");
  const tokens = await tokensOf(await fixtures.redeem(await fixtures.authorize({ clientId: "plain" }), plain));
  expect(tokens).not.toHaveProperty("refresh_token");
});

async function setStatus(status: "active" | "suspended"): Promise<void> {
  await tokenEnv.DB.prepare("UPDATE users SET status = ?1 WHERE sub = 'alice'").bind(status).run();
  await tokenEnv.CACHE.delete("user:alice");
}

it("a suspended user is refused, and their tokens work again afterwards: nothing was spent", async () => {
  const { refresh_token: token } = await fixtures.signIn(app);
  await setStatus("suspended");
  expect(await errorOf(await new LoginFixtures().refresh(token, app))).toBe("400 invalid_grant");
  await setStatus("active");
  const next = await tokensOf(await new LoginFixtures().refresh(token, app));
  expect(parseRefreshToken(next.refresh_token)).toMatchObject({ version: 1 });
});

it.each(["suspended", "leaving"] as const)("the log tells why a user is refused who is %s", (status) => {
  const user = { sub: "alice", username: "alice", status } as User;
  expect(() => requireActive(user, "invalid_grant")).toThrow(expect.objectContaining({ reason: `user-${status}` }));
});

it("§3 R6: while a store does not respond, the response is 503, and the same token works afterwards", async () => {
  const { refresh_token: token } = await fixtures.signIn(app);
  // Without a grace, using the token again would be theft.
  const strict = { ...tokenEnv, REFRESH_GRACE: "0" };
  fixtures.bindings = strict;
  for (const name of ["REFRESH_TOKEN_ROTATOR", "TOKEN_REVOCATION_STORE"] as const) {
    const response = await new LoginFixtures({ ...strict, [name]: unreachable(tokenEnv[name]) }).refresh(token, app);
    expect(response.status, name).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
  }
  const next = await tokensOf(await fixtures.refresh(token, app));
  expect(parseRefreshToken(next.refresh_token)).toMatchObject({ version: 1 });
});

it("§3 R6: a use of which the result is lost and whose check fails is taken back", async () => {
  const { refresh_token: token } = await fixtures.signIn(app);
  const { REFRESH_TOKEN_ROTATOR, TOKEN_REVOCATION_STORE } = tokenEnv;
  const cutOff = {
    ...tokenEnv,
    REFRESH_TOKEN_ROTATOR: losingResults(REFRESH_TOKEN_ROTATOR, "rotate"),
    TOKEN_REVOCATION_STORE: unreachable(TOKEN_REVOCATION_STORE),
  };
  expect((await new LoginFixtures(cutOff).refresh(token, app)).status).toBe(503);
  // Without a grace, a second use of the token would be theft.
  fixtures.bindings = { ...tokenEnv, REFRESH_GRACE: "0" };
  const next = await tokensOf(await fixtures.refresh(token, app));
  expect(parseRefreshToken(next.refresh_token)).toMatchObject({ version: 1 });
});

it("§3 R7: a lifetime that is raised between a sign-in and its redemption does not outlast the memory of the grant's end", async () => {
  const earlier = new LoginFixtures({ ...tokenEnv, REFRESH_TOKEN_LIFETIME: "60" });
  const { refresh_token: token } = await tokensOf(await fixtures.redeem(await earlier.authorize(), app));
  const context = createRequestContext(new Request("https://op.example.com/token"), tokenEnv, { waitUntil: () => {} });
  const { family } = (await readRefreshToken(context, token))!.initial!;
  // A minute, the longest lifetime of an access token, and the time for a redemption.
  expect(family.expiresAtMs - family.grant.grantCreatedAtMs).toBe((60 + 86_400 + 120) * 1_000);
});

it("§2: the row of a revoked grant lives as long as the ID token of its last refresh", async () => {
  const bindings = { ...tokenEnv, ACCESS_TOKEN_LIFETIME: "60", ID_TOKEN_LIFETIME: "7200" };
  const first = await new LoginFixtures(bindings).signIn(app);
  const startMs = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: startMs + 3_600_000 });
  try {
    const next = await tokensOf(await new LoginFixtures(bindings).refresh(first.refresh_token, app));
    const { address } = parseRefreshToken(next.refresh_token)!;
    const { grantId } = parseTokenId(String(claimsOf(next.access_token)["jti"]))!;
    const state = await tokenEnv.REFRESH_TOKEN_ROTATOR.getByName(objectName("refresh", address)).inspect(grantId);
    if (state.kind !== "found") throw new Error(state.kind);
    const [place] = state.snapshot.successor.places;
    expect(place!.untilMs).toBeGreaterThan(Number(claimsOf(next.id_token)["exp"]) * 1_000 + 60_000);
  } finally {
    vi.useRealTimers();
  }
});
