import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { AuthorizationCodeStoreRpc } from "@edge-op/shared/codes/authorization-code-rpc";
import type { DeviceDecision, DeviceRedeemRequest } from "@edge-op/shared/codes/device-code-rpc";
import type { AuthorizedGrant } from "@edge-op/shared/grants/grant";
import { grantKey } from "@edge-op/shared/grants/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type DeviceRow,
  decideDecision,
  decideDeviceRedemption,
  decidePoll,
  type PollPace,
} from "../src/codes/device-machine.ts";

const bindings = env as unknown as {
  AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStoreRpc>;
  TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};
const start = Date.parse("2035-01-01T00:00:00Z");
const expiresAtMs = start + 600_000;
const grantEndsAtMs = start + 31 * 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
});
afterEach(() => {
  vi.useRealTimers();
});

const payload: AuthorizedGrant = {
  grant: { grantId: "device-grant", address: { generation: 1, region: "wnam", shard: 3 }, grantCreatedAtMs: start },
  clientId: "tv",
  scope: ["openid"],
  resources: ["https://a.example"],
  sub: "alice",
  pairwiseSub: undefined,
  sid: undefined,
  authTimeSeconds: 1,
  acr: "1",
  amr: ["pwd"],
  claims: undefined,
  cnf: undefined,
  authorizationDetails: undefined,
  refreshable: true,
  familyAddress: { generation: 1, region: "wnam", shard: 5 },
  grantEndsAtMs,
  tokenLifetimeSeconds: 300,
};
const approval: DeviceDecision = { kind: "approve", payload, tokensEndAtMs: grantEndsAtMs };

const store = () => bindings.AUTHORIZATION_CODE_STORE.getByName("code:g1:wnam:5");
const open = (id = "device", userCode = "BCDFGHJK") =>
  store().openDevice({ id, userCode, clientId: "tv", request: "{}", intervalMs: 5_000, expiresAtMs });
const poll = async (id = "device", clientId = "tv") =>
  (await store().pollDevice({ id, clientId, operationId: crypto.randomUUID() })).kind;

function redemption(change: Partial<DeviceRedeemRequest> = {}): DeviceRedeemRequest {
  return {
    id: "device",
    clientId: "tv",
    operationId: crypto.randomUUID(),
    resources: undefined,
    authorizationDetails: undefined,
    targets: {
      ...{ audiences: ["*"], issuer: "https://op.example.com", openid: true },
      checked: { "https://a.example": "unknown" },
    },
    cnf: undefined,
    origin: {},
    ...change,
  };
}

function wait(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

function count(table: string): Promise<number> {
  return runInDurableObject(store(), (_, { storage }) => {
    return storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;
  });
}

describe("RFC 9449 §10: a code bound to a key", () => {
  const cnf = { method: "jkt", thumbprint: "key" } as const;
  const bound: DeviceDecision = { ...approval, payload: { ...payload, cnf } };
  const refused = { kind: "invalid_grant", reason: "device-code-of-other-key" };

  it("without the key it is refused and not spent; a stolen spent one ends nothing", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", bound);
    expect(await store().redeemDevice(redemption())).toEqual(refused);
    const other = { method: "jkt", thumbprint: "other" } as const;
    expect(await store().redeemDevice(redemption({ cnf: other }))).toEqual(refused);
    const certificate = { method: "x5t#S256", thumbprint: "key" } as const;
    expect(await store().redeemDevice(redemption({ cnf: certificate }))).toEqual(refused);
    expect((await store().redeemDevice(redemption({ cnf }))).kind).toBe("redeemed");
    expect(await store().redeemDevice(redemption())).toEqual(refused);
    expect((await store().redeemDevice(redemption({ cnf }))).kind).toBe("replayed");
  });
});

describe("RFC 8628 §3.5: the interval", () => {
  it("§3.5: each early poll adds five seconds to this and later intervals", async () => {
    await open();
    expect(await poll()).toBe("authorization_pending");
    wait(3_000);
    expect(await poll()).toBe("slow_down");
    wait(7_000);
    expect(await poll()).toBe("slow_down");
    wait(15_000);
    expect(await poll()).toBe("authorization_pending");
    wait(11_000);
    expect(await poll()).toBe("slow_down");
  });

  it("a poll that arrives slightly early is in time", async () => {
    await open();
    await poll();
    wait(4_100);
    expect(await poll()).toBe("authorization_pending");
  });

  it("a poll that is repeated after a lost result is one poll", async () => {
    await open();
    const repeated = { id: "device", clientId: "tv", operationId: "same" };
    expect((await store().pollDevice(repeated)).kind).toBe("authorization_pending");
    expect((await store().pollDevice(repeated)).kind).toBe("authorization_pending");
  });

  it("a poll writes nothing: no row changes, and an evicted object only forgets the pace", async () => {
    await open();
    const written = () =>
      runInDurableObject(store(), (_, { storage }) => storage.sql.exec("SELECT total_changes() AS n").one()["n"]);
    const before = await written();
    for (let each = 0; each < 5; each += 1) await poll();
    expect(await written()).toBe(before);
    expect(await poll()).toBe("slow_down");
    await evictDurableObject(store());
    expect(await poll()).toBe("authorization_pending");
  });
});

describe("RFC 8628 §3.5: the expiry of a device code", () => {
  it("expired_token, before and after its row is deleted; the user code is no longer found", async () => {
    await open();
    expect(await store().findDevice("BCDFGHJK")).toEqual({ clientId: "tv", request: "{}", expiresAtMs });
    wait(600_000);
    expect(await poll()).toBe("expired_token");
    expect(await store().findDevice("BCDFGHJK")).toBeUndefined();
    expect(await store().decideDevice("BCDFGHJK", approval)).toBe(false);
    wait(60_001);
    await runDurableObjectAlarm(store());
    expect(await count("device_code")).toBe(0);
    expect(await poll()).toBe("expired_token");
  });

  it("an approved code that is not redeemed in time also expires", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", approval);
    wait(600_000);
    expect(await poll()).toBe("expired_token");
    expect((await store().redeemDevice(redemption())).kind).toBe("expired_token");
  });

  it("a spent row is kept for a day, then deleted", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", approval);
    expect((await store().redeemDevice(redemption())).kind).toBe("redeemed");
    wait(86_400_000 - 1);
    await runDurableObjectAlarm(store());
    expect(await count("device_code")).toBe(1);
    wait(60_002);
    await runDurableObjectAlarm(store());
    expect(await count("device_code")).toBe(0);
  });
});

describe("the decision and the redemption", () => {
  it("a user code in use is not given to a second device", async () => {
    expect([await open("first"), await open("second"), await open("first")]).toEqual([true, false, true]);
  });

  it("the first decision stands; repeating the same one also succeeds", async () => {
    await open();
    expect(await store().decideDevice("BCDFGHJK", approval)).toBe(true);
    expect(await store().decideDevice("BCDFGHJK", approval)).toBe(true);
    expect(await store().decideDevice("BCDFGHJK", { kind: "deny" })).toBe(false);
    const other = { ...approval, payload: { ...payload, sub: "mallory" } };
    expect(await store().decideDevice("BCDFGHJK", other)).toBe(false);
    expect((await store().redeemDevice(redemption())).kind).toBe("redeemed");
  });

  it("a decided code is found only by the person who decided it, even after it was redeemed", async () => {
    await open();
    const find = (sub?: string) => store().findDevice("BCDFGHJK", sub);
    expect(await find("alice")).toMatchObject({ clientId: "tv" });
    await store().decideDevice("BCDFGHJK", approval);
    expect([await find("alice"), await find("mallory"), await find()]).toEqual([
      { decided: "approve" },
      undefined,
      undefined,
    ]);
    await store().redeemDevice(redemption());
    expect(await find("alice")).toEqual({ decided: "approve" });
    await open("second", "CCCCCCCC");
    await store().decideDevice("CCCCCCCC", { kind: "deny" });
    expect(await store().findDevice("CCCCCCCC", "alice")).toEqual({ decided: "deny" });
    expect(await store().findDevice("CCCCCCCC")).toBeUndefined();
  });

  it("a lost result is repeated for the same operation; another operation is a replay and revokes the grant", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", approval);
    const first = redemption();
    expect((await store().redeemDevice(first)).kind).toBe("redeemed");
    await evictDurableObject(store());
    expect((await store().redeemDevice(first)).kind).toBe("redeemed");
    expect((await store().redeemDevice(redemption())).kind).toBe("replayed");
    await runDurableObjectAlarm(store());
    const shard = bindings.TOKEN_REVOCATION_STORE.getByName("revocation:g1:wnam:3");
    expect((await shard.check([grantKey("device-grant")], [], -1)).revoked).toHaveLength(1);
  });

  it("RFC 6749 §4.1.2: a replay after the code has expired revokes the grant too", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", approval);
    expect((await store().redeemDevice(redemption())).kind).toBe("redeemed");
    wait(600_001);
    expect(await store().redeemDevice(redemption())).toMatchObject({
      kind: "replayed",
      revocation: { grant: payload.grant, reason: "device_code_replayed" },
    });
  });

  it("another client's poll and redemption change nothing, spent or not", async () => {
    await open();
    await store().decideDevice("BCDFGHJK", approval);
    expect(await poll("device", "thief")).toBe("invalid_grant");
    expect((await store().redeemDevice(redemption({ clientId: "thief" }))).kind).toBe("invalid_grant");
    expect((await store().redeemDevice(redemption())).kind).toBe("redeemed");
    expect((await store().redeemDevice(redemption({ clientId: "thief" }))).kind).toBe("invalid_grant");
  });
});

/** Random interleavings of a device, a person, a thief and a clock, against the pure machine and against broken ones. */
type Step = { readonly kind: "allow" | "deny" | "poll" | "steal" | "retry"; readonly waitMs: number };

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Step["kind"][]>("allow", "deny", "poll", "steal", "retry"),
    waitMs: fc.integer({ min: 0, max: 400_000 }),
  }),
  { minLength: 1, maxLength: 12 },
);

const machine = { decideDecision, decidePoll, decideDeviceRedemption };

/** The violated rule, or `undefined`. */
function simulate(
  all: readonly Step[],
  { decideDecision: onDecision, decidePoll: onPoll, decideDeviceRedemption: onRedemption }: typeof machine,
): string | undefined {
  let row: DeviceRow = { clientId: "tv", intervalMs: 5_000, expiresAtMs, decision: undefined, spentBy: undefined };
  let pace: PollPace | undefined;
  let [atMs, redeemed, allowedAtMs, deniedAtMs] = [start, 0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const [index, { kind, waitMs }] of all.entries()) {
    atMs += waitMs;
    if (kind === "allow" || kind === "deny") {
      const decision = kind === "allow" ? approval : ({ kind: "deny" } as const);
      const { store: isStored } = onDecision(row, decision, atMs);
      if (!isStored) continue;
      if (atMs >= expiresAtMs) return "decided after its end";
      if (Math.min(allowedAtMs, deniedAtMs) < Number.POSITIVE_INFINITY) return "decided twice";
      row = { ...row, decision };
      if (kind === "allow") allowedAtMs = atMs;
      else deniedAtMs = atMs;
      continue;
    }
    const clientId = kind === "steal" ? "thief" : "tv";
    const operationId = kind === "retry" ? "retry" : String(index);
    const polled = onPoll(row, pace, { id: "device", clientId, operationId }, atMs);
    pace = polled.pace;
    if (polled.result.kind !== "approved") continue;
    const { result, spend } = onRedemption(row, redemption({ clientId, operationId }), atMs);
    if (spend) {
      redeemed += 1;
      if (redeemed > 1) return "redeemed twice";
      if (clientId !== "tv") return "redeemed by another client";
      if (allowedAtMs > atMs) return "redeemed without an approval";
      if (atMs >= expiresAtMs) return "redeemed after its end";
      row = { ...row, spentBy: operationId };
    } else if (result.kind === "redeemed" && row.spentBy !== operationId) return "tokens for a replay";
  }
  return undefined;
}

describe("simulation", () => {
  it("no interleaving redeems twice, late, unapproved or by another client", () => {
    fc.assert(
      fc.property(steps, (all) => simulate(all, machine) === undefined),
      { numRuns: 2_000 },
    );
  });

  const mutants: readonly (readonly [string, Partial<typeof machine>])[] = [
    [
      "forgets who owns the code",
      {
        decidePoll: (row, pace, request, now) => decidePoll(row, pace, { ...request, clientId: "tv" }, now),
        decideDeviceRedemption: (row, request, now) => decideDeviceRedemption(row, { ...request, clientId: "tv" }, now),
      },
    ],
    [
      "ignores the end",
      {
        decidePoll: (row, pace, request) => decidePoll(row, pace, request, start),
        decideDeviceRedemption: (row, request) => decideDeviceRedemption(row, request, start),
      },
    ],
    [
      "forgets the redemption",
      {
        decideDeviceRedemption: (row, request, now) =>
          decideDeviceRedemption(row && { ...row, spentBy: undefined }, request, now),
      },
    ],
    [
      "lets a later decision replace the first",
      {
        decideDecision: (row, decision, now) => decideDecision(row && { ...row, decision: undefined }, decision, now),
      },
    ],
  ];
  it.each(mutants)("catches a machine that %s", (_, change) => {
    const isCaught = () =>
      fc.assert(
        fc.property(steps, (all) => simulate(all, { ...machine, ...change }) === undefined),
        { numRuns: 5_000 },
      );
    expect(isCaught).toThrow("Property failed");
  });
});
