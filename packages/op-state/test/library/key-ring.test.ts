import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { UnavailableError } from "@edge-op/protocol/oauth/errors";
import { ControlView } from "@edge-op/shared/control/control-view";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import { type KeySchedule, keyManagerName, keyTiming, signingKey } from "@edge-op/shared/keys/key-schedule";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  away,
  bindings,
  claims,
  day,
  type Env,
  isolate,
  keyOf,
  newestVersion,
  noDatabase,
  recordChange,
  request,
  sign,
  start,
  stored,
  verify,
  withKeyManager,
} from "../fixtures/key-ring-fixtures.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("signing and verifying", () => {
  it.each(["ES256", "RS256", "EdDSA", "PS256"] as const)(
    "RFC 7515 §3.1: what %s signs verifies, and names its key",
    async (alg) => {
      // Not by the first signature, whose wait for a key has an end.
      await bindings.KEY_MANAGER.getByName(keyManagerName).schedule([alg]);
      const { ring } = await isolate(await stored());
      const { result: token } = await request((context) => ring.sign(context, { alg, typ: "at+jwt", claims }));
      const { result: verified } = await request(verify(ring, token));
      const key = await keyOf(alg);
      expect(verified).toEqual({
        header: { alg, typ: "at+jwt", kid: key.kid },
        claims,
        kid: key.kid,
        retireAtMs: key.retireAtMs,
      });
    },
  );

  it("the first isolate of a deployment calls KV, D1 and KeyManager once, the next one only KV, a warm one none", async () => {
    const first = await isolate();
    expect((await request(sign(first.ring))).counts).toEqual({ object: 1, kv: 2, d1: 1 });
    const second = await isolate();
    const signed = await request(sign(second.ring));
    expect(signed.counts).toEqual({ object: 0, kv: 1, d1: 0 });
    expect((await request(sign(second.ring))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
    expect((await request(verify(second.ring, signed.result))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("ADR 6: the first PS256 signature creates its key with one call of an isolate; isolates that had the schedule find it", async () => {
    const [signer, verifier] = [await isolate(), await isolate()];
    await request(sign(signer.ring));
    await request(sign(verifier.ring));
    const ps256 = (ring: KeyRing) => (context: RequestContext<Env>) =>
      ring.sign(context, { alg: "PS256", typ: "at+jwt", claims });
    const signed = await Promise.all([1, 2, 3].map(() => request(ps256(signer.ring))));
    expect(signed.map(({ counts }) => counts!.object).sort()).toEqual([0, 0, 1]);
    expect((await request(ps256(signer.ring))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
    // The key was announced before it signed.
    await request(async (context) => verifier.control.observe(context, await newestVersion()));
    const found = await request(verify(verifier.ring, signed[0]!.result));
    expect(found.result?.header.alg).toBe("PS256");
    expect((await request(verify(verifier.ring, signed[1]!.result))).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("concurrent requests that need the schedule read KV and call KeyManager once, and write one copy", async () => {
    const { ring } = await isolate();
    const signed = await Promise.all(Array.from({ length: 50 }, () => request(sign(ring))));
    const total = { object: 0, kv: 0 };
    for (const { counts } of signed) {
      total.object += counts!.object;
      total.kv += counts!.kv;
    }
    expect(total).toEqual({ object: 1, kv: 2 });
  });

  it("RFC 8725 §3.11: a token of another type is not verified", async () => {
    const { ring } = await isolate();
    const { result: token } = await request((context) => ring.sign(context, { alg: "ES256", typ: "JWT", claims }));
    expect((await request(verify(ring, token))).result).toBeUndefined();
    expect(
      (await request((context) => ring.verify(context, token, { typ: ["application/jwt"] }))).result,
    ).toBeDefined();
  });
});

describe("KeyManager is unavailable", () => {
  it("an isolate uses its copy for days without KeyManager, and calls at most once in ten seconds", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    await bindings.CACHE.delete("keys:*");
    vi.setSystemTime(start + 3 * day);
    const first = await request(sign(ring), away);
    expect(first.counts).toEqual({ object: 1, kv: 1, d1: 1 });
    expect((await request(verify(ring, first.result), away)).counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });

  it("a due renewal delays no request, however slow KeyManager is", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    vi.setSystemTime(start + keyTiming.isolateTtlMs / 2);
    const response = Promise.withResolvers<KeySchedule>();
    let asked = 0;
    const manager = withKeyManager(() => {
      asked += 1;
      return response.promise;
    });
    const slow = { ...manager, DB: noDatabase };
    await bindings.CACHE.delete("keys:*");
    const execution = createExecutionContext();
    const context = createRequestContext(new Request("https://op.example.com/"), slow, execution);
    expect(await sign(ring)(context)).toMatch(/^ey/);
    expect(await sign(ring)(context)).toMatch(/^ey/);
    await vi.waitFor(() => expect(asked).toBe(1));

    // The renewed schedule is used from then on: here it has no keys, so nothing verifies.
    const { result: token } = await request(sign(ring), slow);
    response.resolve({ keys: [], revision: 99 });
    await waitOnExecutionContext(execution);
    expect((await request(verify(ring, token), away)).result).toBeUndefined();
  });

  it("a new isolate continues with the copy in KV, however old it is", async () => {
    await request(sign((await isolate()).ring));
    vi.setSystemTime(start + 3 * day);
    const { ring } = await isolate();
    expect((await request(sign(ring), away)).result).toMatch(/^ey/);
  });

  it("an unrelated change does not invalidate the copy in KV", async () => {
    await request(sign((await isolate()).ring));
    await stored();
    const { ring } = await isolate(await recordChange("client", "a"));
    expect((await request(sign(ring), away)).result).toMatch(/^ey/);
  });

  it("ADR 6: a cold isolate without KV, which a jurisdiction excludes, reads D1 and does not call KeyManager, for weeks", async () => {
    const { result: token } = await request(sign((await isolate()).ring));
    await stored();
    vi.setSystemTime(start + 28 * day);
    const cold = await isolate(await recordChange("client", "a"));
    const signed = await request(sign(cold.ring), { ...away, JURISDICTION: "eu", REGION: "weur" });
    expect(signed.counts).toEqual({ object: 0, kv: 0, d1: 1 });
    expect((await request(verify(cold.ring, signed.result), away)).counts).toEqual({ object: 0, kv: 0, d1: 0 });
    expect((await request(verify(cold.ring, token), away)).result).toBeDefined();
  });

  it("ADR 11: the copy in D1 is not used after D1 was restored to an earlier moment, until KeyManager has written it again", async () => {
    await request(sign((await isolate()).ring));
    const version = await stored();
    await bindings.CACHE.delete("keys:*");
    await expect(request(sign((await isolate(version + 1)).ring), away)).rejects.toThrow(UnavailableError);
    // The gap that such a restoration leaves is a change of keys.
    const gap = await recordChange("keys", "*");
    await expect(request(sign((await isolate(gap)).ring), away)).rejects.toThrow(UnavailableError);
    await stored();
    expect((await request(sign((await isolate(gap)).ring), away)).result).toMatch(/^ey/);
  });

  it("without any copy nothing is signed and nothing verified: unavailable", async () => {
    const { ring } = await isolate();
    const nothing = { ...away, DB: noDatabase };
    await expect(request(sign(ring), nothing)).rejects.toThrow(UnavailableError);
    await expect(request(verify((await isolate()).ring, await tokenOfOtherIsolate()), nothing)).rejects.toThrow(
      UnavailableError,
    );
  });

  async function tokenOfOtherIsolate() {
    const { result } = await request(sign((await isolate()).ring));
    await bindings.CACHE.delete("keys:*");
    return result;
  }

  it("K5: nothing is signed after the schedule has ended", async () => {
    const { ring } = await isolate();
    await request(sign(ring));
    vi.setSystemTime(start + 2 * keyTiming.signMs);
    await expect(request(sign(ring), away)).rejects.toThrow(UnavailableError);
    vi.setSystemTime(start + 2 * keyTiming.signMs + 1_000);
    expect((await request(sign(ring))).result).toMatch(/^ey/);
  });
});

describe("a change of keys", () => {
  it("protocols.md §4: an isolate that has learnt of a revoked key refuses its tokens, even with a stale copy in KV", async () => {
    const { ring, control } = await isolate();
    const { result: token } = await request(sign(ring));
    const stale = (await bindings.CACHE.get("keys:*"))!;
    await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey((await keyOf("ES256")).kid, "op-1");
    const cv = await recordChange("keys", "*");

    expect((await request(verify(ring, token))).result).toBeDefined();
    await request((context) => control.observe(context, cv));
    expect((await request(verify(ring, token))).result).toBeUndefined();

    // KV shows its old value for up to a minute more; new isolates must not use it.
    await bindings.CACHE.put("keys:*", stale);
    expect((await request(verify((await isolate(cv)).ring, token))).result).toBeUndefined();
  });

  it("protocols.md §4: a stale copy in KV is not used while KeyManager is unavailable either: 503", async () => {
    const { ring, control } = await isolate();
    await request(sign(ring));
    const cv = await recordChange("keys", "*");
    await request((context) => control.observe(context, cv));
    await expect(request(sign(ring), away)).rejects.toThrow(UnavailableError);
    await expect(request(sign((await isolate(cv)).ring), away)).rejects.toThrow(UnavailableError);
  });

  it("ADR 12: … nor after the row of the change has been deleted from the log", async () => {
    await request(sign((await isolate()).ring));
    await recordChange("keys", "*");
    const cv = await recordChange("client", "app");
    await bindings.DB.prepare("DELETE FROM control_changes WHERE version < ?1").bind(cv).run();
    await expect(request(sign((await isolate(cv)).ring), away)).rejects.toThrow(UnavailableError);
  });

  it("K6: a key that replaces none signs only after every isolate was notified; D1 then has its schedule", async () => {
    const manager = bindings.KEY_MANAGER.getByName(keyManagerName);
    const { ring, control } = await isolate();
    await request(sign(ring));
    const before = await newestVersion();
    expect(signingKey(await manager.schedule(["PS256"]), "PS256", start)).toBeUndefined();
    const { keys } = await manager.schedule(["PS256"], true);
    expect(keys.filter(({ isNew }) => isNew)).toEqual([]);
    const { results } = await bindings.DB.prepare("SELECT kind, id FROM control_changes WHERE version > ?1")
      .bind(before)
      .all();
    expect(results).toEqual([{ kind: "keys", id: "*" }]);
    await bindings.CACHE.delete("keys:*");
    await request(async (context) => control.observe(context, await newestVersion()));
    const held = await request((context) => ring.schedule(context), away);
    expect(held.result.keys.map(({ kid }) => kid)).toEqual(keys.map(({ kid }) => kid));
  });

  it("protocols.md §4: a result requested before the change is not stored after it", async () => {
    const { ring } = await isolate();
    const { result: token } = await request(sign(ring));
    const old = await bindings.KEY_MANAGER.getByName(keyManagerName).schedule();
    await bindings.KEY_MANAGER.getByName(keyManagerName).revokeKey((await keyOf("ES256")).kid, "op-1");
    const cv = await recordChange("keys", "*");
    await bindings.CACHE.delete("keys:*");

    // A new isolate requests the schedule; the response, from before the revocation, arrives after it has learnt of the change.
    const late = Promise.withResolvers<void>();
    let asked = 0;
    const manager = withKeyManager(async () => {
      asked += 1;
      if (asked > 1) return bindings.KEY_MANAGER.getByName(keyManagerName).schedule();
      await late.promise;
      return old;
    });
    const slow = { ...manager, DB: noDatabase };
    const learning = new ControlView();
    const asking = new KeyRing(learning);
    await request((context) => learning.observe(context, 1));
    const verification = request(verify(asking, token), slow);
    await vi.waitFor(() => expect(asked).toBe(1));
    await request((context) => learning.observe(context, cv));
    late.resolve();
    expect((await verification).result).toBeUndefined();
  });

  it("protocols.md §4: a copy from before the change is not used by a request whose renewal was under way", async () => {
    const { ring, control } = await isolate();
    await request(sign(ring));
    vi.setSystemTime(start + keyTiming.isolateTtlMs);
    await bindings.CACHE.delete("keys:*");
    const response = Promise.withResolvers<KeySchedule>();
    let asked = 0;
    const manager = withKeyManager(() => {
      asked += 1;
      return response.promise;
    });
    const renewing = request(sign(ring), { ...manager, DB: noDatabase });
    await vi.waitFor(() => expect(asked).toBe(1));
    const cv = await recordChange("keys", "*");
    await request((context) => control.observe(context, cv));
    response.reject(new Error("away"));
    await expect(renewing).rejects.toThrow(UnavailableError);
  });
});
