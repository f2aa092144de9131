import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { loginContext } from "@edge-op/protocol/oauth/login-context";
import type { GrantRevocation } from "@edge-op/shared/grants/grant-revocation";
import type { RefreshFamily } from "@edge-op/shared/refresh/refresh-family-rpc";
import { readRefreshToken } from "@edge-op/shared/refresh/refresh-token";
import { objectName, parseRefreshToken, type ShardAddress } from "@edge-op/shared/storage/shard-address";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  evict,
  firstPlace,
  fixtureEnv,
  forgetTable,
  Isolate,
  isGrantRevoked,
  jtiAt,
  newFamily,
  openGeneration,
  registration,
  ring,
  rotatorAt,
  rotatorOf,
  type UseOptions,
} from "./fixtures/rotation-fixtures.ts";

/** Far ahead of the real clock, so that alarms fire when a test requires it. */
const start = Date.parse("2035-01-01T00:00:00Z");

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  await forgetTable();
});
afterEach(() => {
  vi.useRealTimers();
});

function advance(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1000);
}

/** Uses a token and expects a successor. */
async function refresh(isolate: Isolate, token: string, options: UseOptions = {}): Promise<string> {
  const rotation = await isolate.use(token, options);
  if ("reason" in rotation) throw new Error(rotation.reason);
  return rotation.refreshToken;
}

async function countRows(token: string, table: string): Promise<number> {
  return runInDurableObject(
    rotatorOf(token),
    (_, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  );
}

it("R1: fifty parallel uses of one token create one version and one successor, and the family stays valid", async () => {
  const isolates = [new Isolate(), new Isolate(), new Isolate()];
  const token = await isolates[0]!.create(newFamily());
  const rotations = await Promise.all(
    Array.from({ length: 50 }, (_, index) => isolates[index % isolates.length]!.use(token)),
  );
  const successes = rotations.flatMap((rotation) => ("reason" in rotation ? [] : [rotation]));
  expect(successes.map(({ kind }) => kind).sort()).toEqual([
    "replayed",
    "replayed",
    "replayed",
    "replayed",
    "replayed",
    "rotated",
  ]);
  expect(new Set(successes.map(({ refreshToken }) => refreshToken)).size).toBe(1);
  expect(new Set(successes.map(({ successor }) => successor.accessToken.jti)).size).toBe(1);
  const next = await refresh(isolates[0]!, successes[0]!.refreshToken);
  expect(parseRefreshToken(next)!.version).toBe(2);
});

it("R2: a retry within the grace gets the same refresh token and the same access token, evicted or not", async () => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily());
  const first = await isolate.use(token);
  for (const pause of [0, 10, 20]) {
    advance(pause);
    await evict(token);
    expect(await new Isolate().use(token)).toEqual({ ...first, kind: "replayed" });
  }
  // Counted from the rotation: retrying does not prolong it.
  advance(0.001);
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-token-reused" });
});

it("R2: a retry within the grace that waited in the Worker gets the same result; a later one does not", async () => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily());
  const first = await isolate.use(token);
  advance(29);
  const inTime = isolate.context();
  advance(9);
  const tooLate = isolate.context();
  advance(9);
  expect(await isolate.use(token, { context: inTime })).toEqual({ ...first, kind: "replayed" });
  expect(await isolate.use(token, { context: tooLate })).toMatchObject({ reason: "refresh-token-reused" });
});

it.each([0, 1])("R2: grace 0 stays 0, however long a request waited, and %s s after the first use", async (seconds) => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily());
  const early = isolate.context({ grace: 0 });
  await isolate.use(token, { grace: 0 });
  advance(seconds);
  expect(await isolate.use(token, { context: early })).toMatchObject({ reason: "refresh-token-reused" });
});

describe("FAPI 2.0 Security Profile §5.3.2.1 item 9: a refresh token that is not rotated", () => {
  const keepsToken = true;

  it("stays the same text and returns a new access token each time, evicted or not, also after the grace and concurrently", async () => {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily());
    const accessTokens = new Set<string>();
    for (let each = 0; each < 3; each += 1) {
      const rotation = await isolate.use(token, { keepsToken });
      if ("reason" in rotation) throw new Error(rotation.reason);
      expect(rotation.refreshToken).toBe(token);
      accessTokens.add(rotation.successor.accessToken.jti);
      advance(3_600);
      await evict(token);
    }
    expect(accessTokens.size).toBe(3);
    const together = await Promise.all(Array.from({ length: 20 }, () => isolate.use(token, { keepsToken })));
    expect(together.map((rotation) => ("reason" in rotation ? rotation.reason : rotation.refreshToken))).toEqual(
      Array.from({ length: 20 }, () => token),
    );
  });

  it("moves to the newest generation with its text, and is rotated there if the client leaves the profile", async () => {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily());
    await openGeneration(2);
    const newer = new Isolate();
    for (let each = 0; each < 2; each += 1) {
      expect(await newer.use(token, { keepsToken })).toMatchObject({ kind: "rotated", refreshToken: token });
    }
    const next = await refresh(newer, token);
    expect(parseRefreshToken(next)).toMatchObject({ version: 1, address: { generation: 2 } });
    advance(31);
    expect(await newer.use(token, { keepsToken })).toMatchObject({ reason: "refresh-token-reused" });
  });

  it("its grant's row is kept as long as the longest-lived of its tokens", async () => {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily());
    await isolate.use(token, { keepsToken, lifeSeconds: 50_000 });
    const endMs = Math.floor(Date.now() / 1000 + 50_000) * 1000;
    await isolate.use(token, { keepsToken, lifeSeconds: 60 });
    const context = isolate.context();
    const parsed = await readRefreshToken(context, token);
    const [place] = (await isolate.families.kill(context, parsed!, "test"))!;
    expect(place!.untilMs).toBeGreaterThanOrEqual(endMs);
    expect(await isolate.use(token, { keepsToken })).toMatchObject({ reason: "refresh-family-ended" });
  });

  it("another client's token, or one without its proof, is refused too", async () => {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily({ confirmedBy: "jkt" }));
    expect(await isolate.use(token, { keepsToken, clientId: "other" })).toMatchObject({ kind: "invalid_grant" });
    expect(await isolate.use(token, { keepsToken })).toMatchObject({ reason: "refresh-key-not-proven" });
    const cnf = { method: "jkt", thumbprint: "key" } as const;
    expect(await isolate.use(token, { keepsToken, cnf })).toMatchObject({ refreshToken: token });
  });
});

it("R3: a use after the grace ends the family and its access tokens", async () => {
  const isolate = new Isolate();
  const family = newFamily();
  const token = await isolate.create(family);
  const next = await refresh(isolate, token);
  advance(30.001);
  const theft = await isolate.use(token);
  expect(theft).toEqual({
    kind: "invalid_grant",
    reason: "refresh-token-reused",
    theft: {
      grant: family.grant,
      clientId: "app",
      reason: "refresh_token_reused",
      untilMs: start + 3_600_000 + 60_000,
      places: [{ address: firstPlace, untilMs: start + 3_600_000 + 60_000 }],
    },
  });
  expect(await isolate.use(next)).toMatchObject({ kind: "invalid_grant", reason: "refresh-family-reused" });
});

it("R3: theft is detected at every distance, also within the grace", async () => {
  for (const distance of [2, 3, 7]) {
    const isolate = new Isolate();
    const tokens = [await isolate.create(newFamily())];
    for (let step = 0; step < distance; step += 1) tokens.push(await refresh(isolate, tokens.at(-1)!));
    expect(await isolate.use(tokens[0]!)).toMatchObject({ reason: "refresh-token-reused" });
    expect(await isolate.use(tokens.at(-1)!)).toMatchObject({ reason: "refresh-family-reused" });
  }
});

it("R3: if the Worker that detects the theft fails, the object revokes the grant itself, across an eviction", async () => {
  const isolate = new Isolate();
  const family = newFamily();
  const token = await isolate.create(family);
  const next = await refresh(isolate, await refresh(isolate, token));
  await expect(isolate.use(token, { lost: { index: 0, when: "after" } })).rejects.toThrow("did not respond");
  await evict(token);
  expect(await isGrantRevoked(family.grant)).toBe(false);
  // Until a shard has acknowledged, every refusal contains the due revocation.
  expect(await isolate.use(next)).toMatchObject({ reason: "refresh-family-reused", theft: { grant: family.grant } });
  advance(1);
  await ring(rotatorOf(token));
  expect(await isGrantRevoked(family.grant)).toBe(true);
  expect(await isolate.use(next)).toMatchObject({ reason: "refresh-family-reused", theft: undefined });
});

it("R3: after the Worker was lost, a repeated theft stays due until no isolate can decide without the revocation", async () => {
  const isolate = new Isolate();
  const family = newFamily();
  const token = await isolate.create(family);
  await refresh(isolate, await refresh(isolate, token));
  const shard = fixtureEnv.TOKEN_REVOCATION_STORE.getByName(objectName("revocation", family.grant.address));
  const lease = {
    holder: "frozen",
    sinceSeq: -1,
    confirmedSeq: -1,
    filterSeq: -1,
    sinceCv: -1,
    leaseMs: 10_000,
    hold: false,
  } as const;
  await shard.lease(lease);
  await isolate.use(token);
  advance(1);
  const rung = ring(rotatorOf(token)).then(() => "acknowledged");
  await expect.poll(() => isGrantRevoked(family.grant)).toBe(true);
  expect(await Promise.race([rung, scheduler.wait(50).then(() => "waits")])).toBe("waits");
  expect(await isolate.use(token)).toMatchObject({ theft: { grant: family.grant } });
  await shard.release("frozen");
  expect(await rung).toBe("acknowledged");
  expect(await isolate.use(token)).toMatchObject({ theft: undefined });
});

it("R4: a token that was never issued changes nothing", async () => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily());
  const { address, version, familyId, mac } = parseRefreshToken(token)!;
  const forged = [
    token.replace(`.${version}.`, `.${version + 1}.`),
    token.replace(".wnam.", ".enam."),
    token.replace(`wnam.${address.shard}.`, `wnam.${(address.shard + 1) % 16}.`),
    token.replace(familyId, `${familyId}A`),
    `${token}A`,
    token.slice(0, -1),
    token.replace(mac, `${mac.slice(0, -1)}${mac.endsWith("A") ? "Q" : "A"}`),
  ];
  for (const text of forged) expect(await readRefreshToken(isolate.context(), text), text).toBeUndefined();
  const unknown = await readRefreshToken(isolate.context(), token);
  const rotation = await isolate.families.rotate(
    isolate.context(),
    { ...unknown!, version: 1 },
    {
      clientId: "app",
      cnf: undefined,
      scope: undefined,
      resources: undefined,
      ...registration,
      accessToken: { jti: jtiAt(firstPlace), iatSeconds: 0, expSeconds: 1 },
      ...{ tokensEndAtMs: 1_000, keepsToken: false, bindsToken: false, dropsScope: false, graceMs: 30_000 },
    },
  );
  expect(rotation).toMatchObject({ reason: "refresh-version-never-issued" });
  expect(parseRefreshToken(await refresh(isolate, token))!.version).toBe(1);
});

it("RFC 9449 §5: a family bound to a key refuses a request without its proof or with another key's, and stays unchanged", async () => {
  const isolate = new Isolate();
  const cnf = { method: "jkt", thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } as const;
  const token = await isolate.create(newFamily({ cnf }));
  const refusal = { kind: "invalid_grant", reason: "refresh-token-of-other-key", theft: undefined };
  expect(await isolate.use(token)).toEqual(refusal);
  expect(await isolate.use(token, { cnf: { ...cnf, method: "x5t#S256" } })).toEqual(refusal);
  expect(await isolate.use(token, { cnf })).toMatchObject({ kind: "rotated", family: { cnf } });
});

describe("RFC 9449 §5: the family of a public client that starts without a key", () => {
  const cnf = { method: "jkt", thumbprint: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" } as const;
  const other = { ...cnf, thumbprint: "another-key" };

  /** A family whose first refresh token has been used with a proof. */
  async function boundAtRefresh() {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily());
    const rotation = await isolate.use(token, { cnf, bindsToken: true });
    if ("reason" in rotation) throw new Error(rotation.reason);
    expect(rotation.family.cnf).toEqual(cnf);
    return { isolate, token, next: rotation.refreshToken };
  }

  it("is bound from the first refresh that proves one, also after it has moved and been evicted", async () => {
    const { isolate, next } = await boundAtRefresh();
    const refusal = { kind: "invalid_grant", reason: "refresh-token-of-other-key", theft: undefined };
    for (const wrong of [{}, { cnf: other }]) {
      expect(await isolate.use(next, { ...wrong, bindsToken: true })).toEqual(refusal);
    }
    const state = await isolate.families.inspect(isolate.context(), (await readRefreshToken(isolate.context(), next))!);
    expect(state).toMatchObject({ live: true, current: true, family: { cnf } });
    await openGeneration(2);
    const third = await new Isolate().use(next, { cnf, bindsToken: true });
    if ("reason" in third) throw new Error(third.reason);
    await evict(third.refreshToken);
    expect(await new Isolate().use(third.refreshToken, { bindsToken: true })).toEqual(refusal);
    expect(await new Isolate().use(third.refreshToken, { cnf, bindsToken: true })).toMatchObject({ kind: "rotated" });
  });

  it("a lost response is repeated only with the key, and a later use of the unbound token is theft", async () => {
    const { isolate, token, next } = await boundAtRefresh();
    expect(await isolate.use(token, { cnf, bindsToken: true })).toMatchObject({ kind: "replayed", refreshToken: next });
    for (const wrong of [{}, { cnf: other }]) {
      expect(await isolate.use(token, { ...wrong, bindsToken: true })).toMatchObject({
        reason: "refresh-token-of-other-key",
        theft: undefined,
      });
    }
    advance(31);
    expect(await isolate.use(token, { bindsToken: true })).toMatchObject({ reason: "refresh-token-reused" });
    expect(await isolate.use(next, { cnf, bindsToken: true })).toMatchObject({ reason: "refresh-family-reused" });
  });

  it("that of a confidential client is not bound, because the client authenticates", async () => {
    const isolate = new Isolate();
    const rotation = await isolate.use(await isolate.create(newFamily()), { cnf, bindsToken: false });
    if ("reason" in rotation) throw new Error(rotation.reason);
    expect(await isolate.use(rotation.refreshToken, { bindsToken: false })).toMatchObject({ kind: "rotated" });
  });
});

it("a family is stored with its whole login context, and rotates with it", async () => {
  const isolate = new Isolate();
  const login = {
    sub: "alice",
    pairwiseSub: "pairwise-of-alice",
    sid: "g1.wnam.2.AAAAAAAAAAAAAAAAAAAAAA",
    claims: { userinfo: { email: null } },
    authorizationDetails: undefined,
    cnf: undefined,
    authTimeSeconds: 1_700_000_000,
    acr: "phr",
    amr: ["hwk", "user", "mfa"],
  };
  const first = await isolate.create(newFamily(login));
  await evict(first);
  const rotation = await isolate.use(first);
  if ("reason" in rotation) throw new Error(rotation.reason);
  expect(loginContext(rotation.family)).toEqual(login);
});

it("RFC 6749 §6: another client, another scope or resource is refused and leaves the family unchanged", async () => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily());
  expect(await isolate.use(token, { clientId: "other" })).toMatchObject({ kind: "invalid_grant" });
  expect(await isolate.use(token, { scope: ["openid", "admin"] })).toMatchObject({ kind: "invalid_scope" });
  expect(await isolate.use(token, { resources: ["https://c.example"] })).toMatchObject({ kind: "invalid_target" });
  const narrowed = await isolate.use(token, { scope: ["openid"], resources: ["https://b.example"] });
  expect(narrowed).toMatchObject({
    kind: "rotated",
    successor: { scope: ["openid"], resources: ["https://b.example"] },
  });
  expect(await isolate.use(token, { scope: ["openid", "email"] })).toMatchObject({
    reason: "refresh-replay-differs",
    theft: undefined,
  });
  if ("reason" in narrowed) throw new Error(narrowed.reason);
  // The refresh token itself keeps the granted scope.
  expect(await isolate.use(narrowed.refreshToken)).toMatchObject({
    kind: "rotated",
    successor: { scope: ["openid", "email", "offline_access"] },
  });
});

it.each([0, 1])(
  "R3: grace 0 is strict: a second use after %s s is theft, but repeating one request is not",
  async (s) => {
    const isolate = new Isolate();
    const token = await isolate.create(newFamily());
    const context = isolate.context({ grace: 0 });
    const first = await isolate.use(token, { context });
    advance(s);
    expect(await isolate.use(token, { context })).toEqual(first);
    expect(await isolate.use(token, { grace: 0 })).toMatchObject({ reason: "refresh-token-reused" });
  },
);

it("R3: with grace 0, of two uses at the same moment in two isolates one is theft", async () => {
  const isolates = [new Isolate(), new Isolate()];
  const token = await isolates[0]!.create(newFamily());
  const uses = await Promise.all(isolates.map((isolate) => isolate.use(token, { grace: 0 })));
  expect(uses.map((use) => ("reason" in use ? use.reason : use.kind)).toSorted()).toEqual([
    "refresh-token-reused",
    "rotated",
  ]);
});

it("§3: the family moves to the newest generation once, and its old tokens keep their text", async () => {
  const old = new Isolate();
  const family = newFamily();
  const v0 = await old.create(family);
  const v1 = await refresh(old, v0);
  await openGeneration(2);
  const warm = new Isolate();
  await expect(warm.use(v1, { lost: { index: 0, when: "after" } })).rejects.toThrow("did not respond");
  // It has left generation 1 and not yet arrived in generation 2; the predecessor is within its grace.
  const retried = await new Isolate().use(v0);
  expect(retried).toMatchObject({ kind: "replayed", refreshToken: v1 });
  const v2 = await refresh(old, v1);
  expect(parseRefreshToken(v2)).toMatchObject({ version: 2, address: { generation: 2 } });
  expect(await refresh(warm, v1)).toBe(v2);
  expect(await old.use(v0)).toMatchObject({ reason: "refresh-token-reused" });
  expect(await warm.use(v2)).toMatchObject({ reason: "refresh-family-reused" });
});

it("a family that is ended between two generations stays ended in both", async () => {
  const old = new Isolate();
  const v0 = await old.create(newFamily());
  await openGeneration(2);
  const warm = new Isolate();
  await expect(warm.use(v0, { lost: { index: 1, when: "before" } })).rejects.toThrow("did not respond");
  const token = (await readRefreshToken(old.context(), v0))!;
  expect(await old.families.inspect(old.context(), token)).toMatchObject({ current: true });
  await old.families.kill(old.context(), token, "logout");
  expect(await old.families.inspect(old.context(), token)).toMatchObject({ live: false });
  expect(await warm.use(v0)).toMatchObject({ reason: "refresh-family-ended" });
});

it("G1: a generation outside the table is refused and no object is called", async () => {
  const isolate = new Isolate();
  await openGeneration(2);
  const token = await new Isolate().create(newFamily());
  await fixtureEnv.DB.prepare(
    "UPDATE shard_generations SET retired = 1 WHERE store = 'refresh' AND generation = 2",
  ).run();
  await forgetTable();
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-generation-retired" });
});

it("a row is deleted when the last access token of its family has expired; an expired family is refused before that", async () => {
  const isolate = new Isolate();
  const token = await isolate.create(newFamily({ expiresAtMs: start + 60_000 }));
  expect(await countRows(token, "family")).toBe(0);
  await isolate.use(token);
  advance(60);
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-family-expired" });
  expect(await countRows(token, "family")).toBe(1);
  advance(86_400);
  await ring(rotatorOf(token));
  expect(await countRows(token, "family")).toBe(1);
  advance(900 + 3600);
  await ring(rotatorOf(token));
  expect(await countRows(token, "family")).toBe(0);
  expect(await isolate.use(token)).toMatchObject({ reason: "refresh-family-expired" });
});

describe("a grant's row is kept as long as the issued tokens", () => {
  const address = { generation: 1, region: "wnam", shard: 5 };
  const ended = ({ grant, expiresAtMs }: RefreshFamily, at = address): GrantRevocation => ({
    grant,
    clientId: "app",
    reason: "session_ended",
    untilMs: expiresAtMs + 86_400_000,
    family: { address: at, tokensEndAtMs: start + 120_000 },
  });

  it("the longest-lived one applies, even if the client's lifetime was reduced since", async () => {
    const isolate = new Isolate();
    const family = newFamily();
    const v0 = await isolate.create(family, address, 86_400);
    const rotation = await isolate.use(v0, { lifeSeconds: 60 });
    expect(rotation).toMatchObject({ kind: "rotated" });
    const { places } = await isolate.families.end(isolate.context(), ended(family));
    expect(places).toEqual([{ address: firstPlace, untilMs: start + 86_400_000 + 60_000 }]);
    if ("reason" in rotation) throw new Error(rotation.reason);
    expect(await isolate.use(rotation.refreshToken)).toMatchObject({ reason: "refresh-family-ended" });
  });

  it("a grant that ends before its family starts: the family starts ended, and the tokens of the code count", async () => {
    const isolate = new Isolate();
    const family = newFamily();
    const { places } = await isolate.families.end(isolate.context(), ended(family));
    expect(places).toEqual([{ address: firstPlace, untilMs: start + 120_000 + 60_000 }]);
    await evictDurableObject(rotatorAt(address));
    const v0 = await isolate.create(family, address);
    expect(await isolate.use(v0)).toMatchObject({ reason: "refresh-family-ended" });
    const other = await isolate.create(newFamily(), address);
    expect(await isolate.use(other)).toMatchObject({ kind: "rotated" });
  });

  it("a family that moved is followed; one that is moving arrives ended", async () => {
    const old = new Isolate();
    const family = newFamily();
    const v0 = await old.create(family, address);
    await openGeneration(2);
    const warm = new Isolate();
    const v1 = await refresh(warm, v0);
    await old.families.end(old.context(), ended(family));
    expect(await warm.use(v1)).toMatchObject({ reason: "refresh-family-ended" });
  });

  it.each(["before", "after"] as const)(
    "a shard that does not respond (%s): unavailable, because the places of the grant are not known; a repetition finds them",
    async (when) => {
      const isolate = new Isolate();
      const family = newFamily();
      await isolate.create(family, address);
      const lost = isolate.context({ lost: { index: 0, when } });
      await expect(isolate.families.end(lost, ended(family))).rejects.toThrow(UnavailableError);
      const { places } = await isolate.families.end(isolate.context(), ended(family));
      expect(places).toEqual([{ address: firstPlace, untilMs: start + 120_000 + 60_000 }]);
    },
  );

  it("a refresh in a newer generation adds a place, which a move of the family keeps and a rotation forgets when it is over", async () => {
    const isolate = new Isolate();
    const family = newFamily();
    const at = (generation: number): ShardAddress => ({ generation, region: "wnam", shard: 7 });
    const v0 = await isolate.create(family, address, 7_200);
    const v1 = await refresh(isolate, v0, { place: at(2), lifeSeconds: 60 });
    const context = isolate.context();
    expect(await isolate.use(v1, { place: at(3), lifeSeconds: 600, isUnchecked: true, context })).toMatchObject({
      kind: "rotated",
    });
    await isolate.families.takeBack(context, (await readRefreshToken(context, v1))!);
    await openGeneration(2);
    advance(300);
    const v2 = await refresh(new Isolate(), v1, { place: at(3), lifeSeconds: 60 });
    const kept = [
      { address: firstPlace, untilMs: start + 7_200_000 + 60_000 },
      { address: at(3), untilMs: start + 600_000 + 60_000 },
    ];
    const state = await rotatorOf(v2).inspect(family.grant.grantId);
    expect(state).toMatchObject({ kind: "found", snapshot: { successor: { places: kept } } });
    expect((await isolate.families.end(isolate.context(), ended(family))).places).toEqual(kept);
  });

  it("the refusal of a family that has not started is deleted at the end of its grant", async () => {
    const isolate = new Isolate();
    const family = newFamily();
    await isolate.families.end(isolate.context(), ended(family));
    const rows = () =>
      runInDurableObject(
        rotatorAt(address),
        (_, { storage }) => storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM ended_grant").one().n,
      );
    advance(30 * 86_400);
    await ring(rotatorAt(address));
    expect(await rows()).toBe(1);
    advance(86_400 + 3_600);
    await ring(rotatorAt(address));
    expect(await rows()).toBe(0);
  });
});

it("§5 A1: the end or abuse of a family is an event in the same commit", async () => {
  const isolate = new Isolate();
  const v0 = await isolate.create(newFamily());
  await isolate.use(v0, { clientId: "other" });
  const v1 = await refresh(isolate, v0);
  await refresh(isolate, v1);
  await isolate.use(v0);
  const events = await runInDurableObject(rotatorOf(v0), (_, { storage }) =>
    storage.sql
      .exec<{ type: string; payload: string }>("SELECT type, payload FROM audit_outbox ORDER BY seq")
      .toArray(),
  );
  expect(events.map(({ type }) => type)).toEqual(["refresh.misused", "refresh.created", "refresh.reused"]);
  expect(JSON.parse(events[0]!.payload)).toMatchObject({ client_id: "app", presented_by: "other" });
});
