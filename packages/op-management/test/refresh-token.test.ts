import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { objectName } from "@edge-op/shared/storage/shard-address";
import { beforeEach, describe, expect, it } from "vitest";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import { type SeededClient, seedClient, seedUser } from "../../../test/fixtures/seed.ts";
import { ManagementFixtures, managementEnv } from "./fixtures/management-fixtures.ts";

let fixtures: ManagementFixtures;
let app: SeededClient;
let other: SeededClient;
beforeEach(async () => {
  fixtures = new ManagementFixtures();
  app = await seedClient(managementEnv, "app");
  other = await seedClient(managementEnv, "other");
  await seedUser(managementEnv, "alice");
});

/** A refresh token as op-token would issue it, and an access token of the same grant. */
async function signIn(pairwiseSub?: string, expiresInMs = 86_400_000, tokensEndAtMs = Date.now()) {
  const grant = await fixtures.within((context) => grantNow(context, fixtures.isolate));
  const expiresAtMs = grant.grantCreatedAtMs + expiresInMs;
  const login = { sid: "s", authTimeSeconds: 1, acr: undefined, amr: undefined, claims: undefined, cnf: undefined };
  const authorizationDetails = undefined;
  const scope = ["openid", "offline_access"];
  const family = {
    ...login,
    authorizationDetails,
    grant,
    clientId: "app",
    sub: "alice",
    pairwiseSub,
    scope,
    resources: [],
    expiresAtMs,
  };
  const refreshToken = await fixtures.within(async (context) => {
    const at = await fixtures.isolate.shardMap.place(context, "refresh", grant.grantId);
    return fixtures.isolate.refreshFamilies.create(context, family, tokensEndAtMs, at);
  });
  const id = { address: grant.address, grantId: grant.grantId, random: "r" };
  return { grant, refreshToken, accessToken: await fixtures.token({ id }) };
}

function rotate(refreshToken: string) {
  return fixtures.within(async (context) => {
    const accessToken = { jti: "g1:wnam:3:grant.j2", iatSeconds: 1, expSeconds: 2 };
    const use = {
      ...{ clientId: "app", cnf: undefined, scope: undefined, resources: undefined, authorizationDetails: undefined },
      ...{
        accessToken,
        tokensEndAtMs: Date.now(),
        keepsToken: false,
        bindsToken: false,
        dropsScope: false,
        graceMs: 30_000,
      },
      targets: { audiences: ["*"], issuer: "https://op.example.com", openid: true, checked: {}, defaultChecked: true },
      allowedScope: ["openid", "offline_access"],
    };
    return fixtures.isolate.refreshFamilies.rotate(context, (await readRefreshToken(context, refreshToken))!, use);
  });
}

describe("RFC 7662 introspection of refresh tokens", () => {
  it("shows only its client the token that may be used next", async () => {
    const { grant, refreshToken } = await signIn("pairwise-of-alice");
    const iat = Math.floor(grant.grantCreatedAtMs / 1000);
    expect(await fixtures.introspect(refreshToken, app)).toEqual({
      active: true,
      token_type: "refresh_token",
      client_id: "app",
      sub: "pairwise-of-alice",
      iss: "https://op.example.com",
      iat,
      exp: iat + 86_400,
      scope: "openid offline_access",
    });
    expect(await fixtures.introspect(refreshToken, other)).toEqual({ active: false });
    expect(await fixtures.introspect(`${refreshToken}A`, app)).toEqual({ active: false });
  });

  it("ADR 28: is inactive if the record of its user has a later cut-off, which no shard needs to know", async () => {
    const { refreshToken } = await signIn();
    const { DB } = managementEnv;
    await DB.batch([
      DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('cut-off', 'nb:sub:alice', 0)"),
      recordNewest(DB, { key: "nb:sub:alice", untilMs: cutOffUntilMs(Date.now()) }),
    ]);
    expect(await fixtures.introspect(refreshToken, app)).toEqual({ active: false });
  });

  it("a spent token is inactive, its successor active", async () => {
    const { refreshToken } = await signIn();
    const rotation = await rotate(refreshToken);
    expect(await fixtures.introspect(refreshToken, app)).toEqual({ active: false });
    if ("reason" in rotation) throw new Error(rotation.reason);
    expect(await fixtures.introspect(rotation.refreshToken, app)).toMatchObject({ active: true });
  });
});

describe("RFC 7009 §2.1 revocation of refresh tokens", () => {
  it("ends the family and every access token of the grant", async () => {
    const { refreshToken, accessToken } = await signIn();
    expect(await fixtures.introspect(accessToken, app)).toMatchObject({ active: true });
    expect(await fixtures.revoke(refreshToken, app)).toBe(200);
    expect(await fixtures.introspect(accessToken, app)).toEqual({ active: false });
    expect(await fixtures.introspect(refreshToken, app)).toEqual({ active: false });
    expect(await rotate(refreshToken)).toMatchObject({ kind: "invalid_grant", reason: "refresh-family-ended" });
    expect(await fixtures.revoke(refreshToken, app)).toBe(200);
  });

  it("for a reused token whose grant no shard has revoked yet: 200 only when its access tokens are inactive", async () => {
    const { refreshToken, accessToken } = await signIn();
    const next = await rotate(refreshToken);
    if ("reason" in next) throw new Error(next.reason);
    await rotate(next.refreshToken);
    // The Worker that received the theft result fails before it notifies the grant's shard.
    expect(await rotate(refreshToken)).toMatchObject({ kind: "invalid_grant", reason: "refresh-token-reused" });
    expect(await fixtures.introspect(refreshToken, app)).toEqual({ active: false });
    expect(await fixtures.revoke(refreshToken, app)).toBe(200);
    expect(await fixtures.introspect(accessToken, app)).toEqual({ active: false });
  });

  it("R7: the row of its grant is kept as long as the last token that the family issued, not as long as the family could last", async () => {
    const tokensEndAtMs = Date.now() + 300_000;
    const { grant, refreshToken } = await signIn(undefined, 365 * 86_400_000, tokensEndAtMs);
    expect(await fixtures.revoke(refreshToken, app)).toBe(200);
    const shard = managementEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", grant.address));
    const lease = await shard.lease({
      holder: "test",
      sinceSeq: -1,
      confirmedSeq: -1,
      filterSeq: -1,
      sinceCv: -1,
      leaseMs: 0,
      hold: false,
    });
    const row = lease.kind === "lease" ? lease.rows.find(({ key }) => key === `g:${grant.grantId}`) : undefined;
    expect(row?.untilMs).toBe(tokensEndAtMs + 60_000);
  });

  it("for another client's token is refused and changes nothing", async () => {
    const { refreshToken, accessToken } = await signIn();
    expect(await fixtures.revoke(refreshToken, other)).toBe(400);
    expect(await fixtures.introspect(accessToken, app)).toMatchObject({ active: true });
    expect(await fixtures.introspect(refreshToken, app)).toMatchObject({ active: true });
  });
});
