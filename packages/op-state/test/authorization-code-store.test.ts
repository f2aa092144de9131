import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type {
  AuthorizationCodePayload,
  AuthorizationCodeStoreRpc,
  RedeemRequest,
} from "@edge-op/shared/grants/authorization-code-rpc";
import { grantKey, type RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const bindings = env as unknown as {
  AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
  TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};
const start = Date.parse("2035-01-01T00:00:00Z");
const expires = start + 60_000;
const grantEnds = start + 31 * 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

const payload: AuthorizationCodePayload = {
  grant: { grantId: "grant", address: { generation: 1, region: "wnam", shard: 2 }, grantCreatedAtMs: start },
  clientId: "app",
  redirectUri: "https://app.example/cb",
  codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  scope: ["openid"],
  resources: ["https://a.example"],
  nonce: "n",
  sub: "alice",
  pairwiseSub: undefined,
  sid: "s",
  authTimeSeconds: 1,
  acr: "1",
  amr: ["pwd"],
  claims: undefined,
  cnf: undefined,
  authorizationDetails: undefined,
  refreshable: true,
  familyAddress: { generation: 1, region: "wnam", shard: 5 },
  grantEndsAtMs: grantEnds,
  tokenLifetimeSeconds: 300,
};

function redemption(change: Partial<RedeemRequest> = {}): RedeemRequest {
  return {
    id: "code",
    clientId: "app",
    redirectUri: "https://app.example/cb",
    codeChallenge: payload.codeChallenge,
    ...{ resources: undefined, authorizationDetails: undefined, cnf: undefined, origin: {} },
    targets: {
      ...{ audiences: ["*"], issuer: "https://op.example.com", openid: true },
      checked: { "https://a.example": "unknown" },
    },
    operationId: crypto.randomUUID(),
    ...change,
  };
}

const store = () => bindings.AUTHORIZATION_CODE_STORE.getByName("code:g1:wnam:0");
const put = (change: Partial<AuthorizationCodePayload> = {}) =>
  store().put("code", { ...payload, ...change }, expires, grantEnds);

async function isRevoked(): Promise<boolean> {
  const response = await bindings.TOKEN_REVOCATION_STORE.getByName("revocation:g1:wnam:2").check(
    [grantKey("grant")],
    [],
    -1,
  );
  return response.revoked.length > 0;
}

function rows(): Promise<number> {
  return runInDurableObject(
    store(),
    (_, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM code").one().n,
  );
}

it("RFC 6749 §4.1.2: one of twenty parallel redemptions succeeds, the others are replays", async () => {
  await put();
  const results = await Promise.all(Array.from({ length: 20 }, () => store().redeem(redemption())));
  expect(results.filter(({ kind }) => kind === "redeemed")).toHaveLength(1);
  expect(results.filter(({ kind }) => kind === "replayed")).toHaveLength(19);
});

it("a code stored before cnf existed is redeemed as it was authorized", async () => {
  await runInDurableObject(store(), (_, { storage }) => {
    const { cnf: _cnf, ...stored } = payload;
    storage.sql.exec(
      "INSERT INTO code (id, payload, expires_at_ms, grant_ends_at_ms, until_ms) VALUES ('code', ?1, ?2, ?3, ?2)",
      JSON.stringify(stored),
      expires,
      grantEnds,
    );
  });
  expect(await store().redeem(redemption())).toEqual({ kind: "redeemed", payload });
});

it("RFC 9449 §10: a code bound to a key is refused without its proof or with another key's, and is not spent", async () => {
  const cnf = { method: "jkt", thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } as const;
  const other = { method: "jkt", thumbprint: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" } as const;
  const refusal = { kind: "invalid_grant", reason: "code-of-other-key" };
  await put({ cnf });
  expect(await store().redeem(redemption())).toEqual(refusal);
  expect(await store().redeem(redemption({ cnf: other }))).toEqual(refusal);
  expect(await store().redeem(redemption({ cnf: { ...cnf, method: "x5t#S256" } }))).toEqual(refusal);
  expect(await store().redeem(redemption({ cnf }))).toMatchObject({ kind: "redeemed", payload: { cnf } });
});

it("a redemption returns everything that was authorized", async () => {
  await put();
  expect(await store().redeem(redemption())).toEqual({ kind: "redeemed", payload });
});

it.each<[string, Partial<RedeemRequest>, string]>([
  ["another client", { clientId: "other" }, "code-of-other-client"],
  ["another redirect_uri", { redirectUri: "https://app.example/cb/" }, "code-redirect-uri"],
  ["no redirect_uri", { redirectUri: undefined }, "code-redirect-uri"],
  ["another verifier", { codeChallenge: "x" }, "verifier-wrong"],
  ["no verifier", { codeChallenge: undefined }, "verifier-missing"],
])("RFC 9700 §4.5: %s is refused and spends nothing", async (_, change, reason) => {
  await put();
  expect(await store().redeem(redemption(change))).toEqual({ kind: "invalid_grant", reason });
  expect(await store().redeem(redemption())).toMatchObject({ kind: "redeemed" });
});

it("RFC 8707 §2.2: a resource that was not authorized is invalid_target and spends nothing", async () => {
  await put();
  expect(await store().redeem(redemption({ resources: ["https://b.example"] }))).toMatchObject({
    kind: "invalid_target",
  });
  expect(await store().redeem(redemption({ resources: ["https://a.example"] }))).toMatchObject({ kind: "redeemed" });
});

it("RFC 9700 §4.8.2: a verifier for a code without a challenge is a downgrade", async () => {
  await put({ codeChallenge: undefined });
  expect(await store().redeem(redemption())).toMatchObject({ reason: "verifier-unexpected" });
  expect(await store().redeem(redemption({ codeChallenge: undefined }))).toMatchObject({ kind: "redeemed" });
});

it("an unknown code and an expired one are refused", async () => {
  expect(await store().redeem(redemption())).toMatchObject({ reason: "code-unknown" });
  await put();
  vi.setSystemTime(expires);
  expect(await store().redeem(redemption())).toMatchObject({ reason: "code-expired" });
});

it("a lost response is not a replay: the same request gets the same result, even after an eviction", async () => {
  await put();
  const request = redemption();
  const first = await store().redeem(request);
  await evictDurableObject(store());
  expect(await store().redeem(request)).toEqual(first);
});

it("RFC 6749 §4.1.2: a replay returns the due revocation, even an hour later, and the object also performs it", async () => {
  await put();
  await store().redeem(redemption());
  vi.setSystemTime(start + 3_600_000);
  const family = { address: payload.familyAddress, tokensEndAtMs: start + 120_000 + 300_000 };
  const revocation = { grant: payload.grant, clientId: "app", reason: "code_replayed", untilMs: grantEnds, family };
  expect(await store().redeem(redemption({ redirectUri: undefined }))).toEqual({ kind: "replayed", revocation });
  expect(await isRevoked()).toBe(false);
  await evictDurableObject(store());
  await runDurableObjectAlarm(store());
  expect(await isRevoked()).toBe(true);
});

it("a caller without the verifier of a spent code does not revoke the grant", async () => {
  await put();
  await store().redeem(redemption());
  expect(await store().redeem(redemption({ codeChallenge: "x" }))).toMatchObject({ kind: "invalid_grant" });
  expect(await store().redeem(redemption({ clientId: "other" }))).toMatchObject({ kind: "invalid_grant" });
  await runDurableObjectAlarm(store());
  expect(await isRevoked()).toBe(false);
});

it("a row is deleted: unspent with its code, spent a day later", async () => {
  await put();
  vi.setSystemTime(expires);
  await runDurableObjectAlarm(store());
  expect(await rows()).toBe(0);
  vi.setSystemTime(start);
  await put();
  await store().redeem(redemption());
  vi.setSystemTime(expires + 60_000);
  await runDurableObjectAlarm(store());
  expect(await rows()).toBe(1);
  vi.setSystemTime(start + 86_400_000);
  await runDurableObjectAlarm(store());
  expect(await rows()).toBe(0);
});
