import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { isEncryptionAlgorithm, keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import {
  announceMs,
  type KeyManagerRpc,
  type KeySchedule,
  keyManagerName,
  keyState,
  keyTiming,
  type ScheduledKey,
  signingKey,
} from "@edge-op/shared/keys/key-schedule";
import { unwrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { calculateJwkThumbprint } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findViolations } from "../src/keys/key-machine.ts";
import { KeyManager } from "../src/keys/key-manager.ts";

const bindings = env as unknown as { KEY_MANAGER: DurableObjectNamespace<KeyManagerRpc>; OP_MASTER_KEY: string };
const start = Date.parse("2026-11-21T00:00:00Z");
const day = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(start);
});
afterEach(() => {
  vi.useRealTimers();
});

function manager() {
  return bindings.KEY_MANAGER.getByName(keyManagerName);
}

function shape({ keys }: KeySchedule, atMs: number) {
  return keys.map((key) => `${key.alg} ${keyState(key, atMs)}`).sort();
}

function ofAlgorithm(schedule: KeySchedule, alg: string): readonly ScheduledKey[] {
  return schedule.keys.filter((key) => key.alg === alg);
}

const complete = [
  "ES256 active",
  "ES256 announced",
  "EdDSA active",
  "EdDSA announced",
  "RS256 active",
  "RS256 announced",
];

it("§4: the first call of a deployment creates keys that sign at once, and announces their successors", async () => {
  const schedule = await manager().schedule();
  expect(shape(schedule, start)).toEqual(complete);
  expect(schedule.revision).toBe(1);
  expect(await manager().schedule()).toEqual(schedule);
});

it("§4: the first keys are valid for a request that arrived before them, on a machine whose clock is behind", async () => {
  const schedule = await manager().schedule();
  for (const alg of ["ES256", "RS256", "EdDSA"] as const) {
    expect(signingKey(schedule, alg, start - keyTiming.skewMs)).toBeDefined();
  }
  await manager().revokeKey(signingKey(schedule, "ES256", start)!.kid, "op-1");
  expect(signingKey(await manager().schedule(), "ES256", start - keyTiming.skewMs)).toBeDefined();
});

it("ADR 6: keys of other algorithms are created once, when first needed, and are not lost by other calls", async () => {
  const before = await manager().schedule();
  const wanted = [...keyAlgorithms];
  const [first, second] = await Promise.all([manager().schedule(wanted, true), manager().schedule(wanted, true)]);
  expect(second).toEqual(first);
  expect(shape(first!, start)).toEqual(keyAlgorithms.flatMap((alg) => [`${alg} active`, `${alg} announced`]).sort());
  for (const { alg } of before.keys) expect(ofAlgorithm(first!, alg)).toEqual(ofAlgorithm(before, alg));
  expect(await manager().schedule()).toEqual(first);
  for (const alg of keyAlgorithms) {
    const { kid, publicJwk, wrappedPrivateKey } = signingKey(first!, alg, start)!;
    expect(publicJwk).toMatchObject({ kid, alg, use: isEncryptionAlgorithm(alg) ? "enc" : "sig" });
    expect(await calculateJwkThumbprint(publicJwk as { kty: string })).toBe(kid);
    const key = await unwrapPrivateKey(bindings, kid, alg, wrappedPrivateKey);
    expect([key.type, key.extractable]).toEqual(["private", false]);
  }
  vi.setSystemTime(start + day);
  expect(await manager().rotate("PS256", "op-1")).toMatchObject({ kid: ofAlgorithm(first!, "PS256")[1]!.kid });
});

it("ADR 6: a rotation creates the first key of an algorithm, and its announced one waits until it is known", async () => {
  const rotated = await manager().rotate("PS256", "op-1");
  expect(rotated).toMatchObject({ signFromMs: start - keyTiming.skewMs + announceMs });
  expect(signingKey(await manager().schedule(), "PS256", start)).toBeDefined();
});

it("§4: concurrent first calls create one set of keys", async () => {
  const schedules = await Promise.all([1, 2, 3].map(() => manager().schedule()));
  expect(schedules[1]).toEqual(schedules[0]);
  expect(schedules[2]).toEqual(schedules[0]);
  expect(shape(schedules[0]!, start)).toEqual(complete);
});

it("RFC 7638: a kid is the thumbprint of its key (K3), and public keys have no private members", async () => {
  for (const { kid, alg, publicJwk } of (await manager().schedule()).keys) {
    expect(await calculateJwkThumbprint(publicJwk as { kty: string })).toBe(kid);
    expect(publicJwk).toMatchObject({ kid, alg, use: "sig" });
    for (const member of ["d", "p", "q", "dp", "dq", "qi"]) expect(publicJwk).not.toHaveProperty(member);
  }
});

it("§4: private keys are stored wrapped, unwrap under the master key, but not under another kid", async () => {
  const { keys } = await manager().schedule();
  const [first, second] = keys as [ScheduledKey, ScheduledKey];
  const key = await unwrapPrivateKey(bindings, first.kid, first.alg, first.wrappedPrivateKey);
  expect(key).toMatchObject({ type: "private", extractable: false, usages: ["sign"] });
  await expect(unwrapPrivateKey(bindings, second.kid, first.alg, first.wrappedPrivateKey)).rejects.toThrow("unwrapped");
  const otherMaster = { OP_MASTER_KEY: "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
  await expect(unwrapPrivateKey(otherMaster, first.kid, first.alg, first.wrappedPrivateKey)).rejects.toThrow(
    "unwrapped",
  );
});

describe("ADR 6: while the master key is replaced", () => {
  const after = { OP_MASTER_KEY: "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" };
  const replaced = { ...after, OP_MASTER_KEY_PREVIOUS: bindings.OP_MASTER_KEY };

  /** The object as started by the next deployment. */
  function withSecrets<T>(secrets: MasterKeyBindings, work: (manager: KeyManager) => Promise<T>): Promise<T> {
    type Env = ConstructorParameters<typeof KeyManager>[1];
    return runInDurableObject(manager(), (_, ctx) =>
      work(new KeyManager(ctx, { ...(env as unknown as Env), ...secrets })),
    );
  }

  const opens = async (secrets: MasterKeyBindings, { keys }: KeySchedule) =>
    Promise.all(
      keys.map(({ kid, alg, wrappedPrivateKey }) =>
        unwrapPrivateKey(secrets, kid, alg, wrappedPrivateKey).then(
          () => true,
          () => false,
        ),
      ),
    );

  it("an instance rewraps the keys at their first use, and changes nothing else", async () => {
    const before = await manager().schedule();
    const [prepared, first, second] = [
      await withSecrets({ ...bindings, OP_MASTER_KEY_PREVIOUS: after.OP_MASTER_KEY }, (next) => next.schedule()),
      await withSecrets(replaced, (next) => next.schedule()),
      await withSecrets(replaced, (next) => next.schedule()),
    ];
    expect(prepared).toEqual(before);
    expect(await opens(after, before)).toEqual(Array(6).fill(false));
    expect(await opens(after, first)).toEqual(Array(6).fill(true));
    expect(second).toEqual(first);
    const rest = ({ keys }: KeySchedule) => keys.map(({ wrappedPrivateKey: _, ...key }) => key);
    expect(rest(first)).toEqual(rest(before));
  });

  it("a key that is revoked while keys are being rewrapped does not come back", async () => {
    const { keys } = await manager().schedule();
    const revoked = keys.find(({ alg }) => alg === "ES256")!.kid;
    await withSecrets(replaced, async (next) => {
      await Promise.all([next.schedule(), next.revokeKey(revoked, "op-1")]);
    });
    const left = await manager().schedule();
    expect(left.keys.map(({ kid }) => kid)).not.toContain(revoked);
    expect(left.keys).toHaveLength(6);
  });
});

it("§4: a rotation moves the announced key forward; the old one signs during the overlap and verifies until its tokens expire", async () => {
  const before = await manager().schedule();
  const [old, next] = ofAlgorithm(before, "ES256") as [ScheduledKey, ScheduledKey];
  vi.setSystemTime(start + day);
  expect(await manager().rotate("ES256", "op-1")).toEqual({ kid: next.kid, signFromMs: start + day });

  const after = await manager().schedule();
  expect(signingKey(after, "ES256", start + day)?.kid).toBe(next.kid);
  expect(after.keys.find(({ kid }) => kid === old.kid)).toMatchObject({
    signUntilMs: start + day + keyTiming.overlapMs,
    retireAtMs: old.retireAtMs,
  });
  expect(ofAlgorithm(after, "ES256")).toHaveLength(3);
  expect(ofAlgorithm(after, "RS256")).toEqual(ofAlgorithm(before, "RS256"));
});

it("K1: a rotation right after another waits until the successor has been announced long enough", async () => {
  await manager().schedule();
  vi.setSystemTime(start + day);
  await manager().rotate("ES256", "op-1");
  const second = await manager().rotate("ES256", "op-2");
  if (second.kind === "full") throw new Error("a second rotation is possible");
  expect(second.signFromMs).toBe(start + day - keyTiming.skewMs + announceMs);
  // A third rotation returns the same successor.
  expect(await manager().rotate("ES256", "op-3")).toEqual(second);
});

it("§4: rotate and revokeKey return the same result to a retry, and act once", async () => {
  const { keys } = await manager().schedule();
  vi.setSystemTime(start + day);
  const rotated = await manager().rotate("RS256", "op-1");
  const revision = (await manager().schedule()).revision;
  expect(await manager().rotate("RS256", "op-1")).toEqual(rotated);
  expect((await manager().schedule()).revision).toBe(revision);

  const kid = keys[0]!.kid;
  expect(await manager().revokeKey(kid, "op-2")).toEqual({ kind: "revoked" });
  expect(await manager().revokeKey(kid, "op-2")).toEqual({ kind: "revoked" });
  expect(await manager().revokeKey(kid, "op-3")).toEqual({ kind: "unknown" });
});

it("§4: an emergency removes the key, the announced one signs at once, and a new successor is announced", async () => {
  const before = await manager().schedule();
  const [signer, next] = ofAlgorithm(before, "ES256") as [ScheduledKey, ScheduledKey];
  expect(await manager().revokeKey(signer.kid, "op-1")).toEqual({ kind: "revoked" });
  const after = await manager().schedule();
  expect(after.keys.some(({ kid }) => kid === signer.kid)).toBe(false);
  expect(signingKey(after, "ES256", start)?.kid).toBe(next.kid);
  expect(shape(after, start)).toEqual(complete);

  // Repeated, including the last key: there is always a key that signs.
  for (const { kid } of ofAlgorithm(after, "ES256")) await manager().revokeKey(kid, `op-${kid}`);
  expect(shape(await manager().schedule(), start)).toEqual(complete);
});

it("§4: an unknown kid is not revoked and changes nothing", async () => {
  const before = await manager().schedule();
  expect(await manager().revokeKey("none-such", "op-1")).toEqual({ kind: "unknown" });
  expect(await manager().schedule()).toEqual(before);
});

it("§4: the alarm extends the schedule when a successor begins to sign, and deletes expired keys and old operations", async () => {
  const first = await manager().schedule();
  await manager().revokeKey(ofAlgorithm(first, "EdDSA")[0]!.kid, "op-1");
  const stub = manager() as unknown as DurableObjectStub;
  for (let days = 1; days <= 62; days += 1) {
    vi.setSystemTime(start + days * day);
    await runDurableObjectAlarm(stub);
  }
  const now = start + 62 * day;
  const tables = await runInDurableObject(stub, (_, { storage }) => ({
    kids: storage.sql.exec<{ kid: string }>("SELECT kid FROM keys").toArray(),
    operations: storage.sql.exec("SELECT * FROM key_operations").toArray(),
  }));
  const { keys } = await manager().schedule();
  expect(tables.kids).toHaveLength(keys.length);
  expect(tables.operations).toEqual([]);
  for (const { kid } of ofAlgorithm(first, "ES256").slice(0, 1))
    expect(keys.some((key) => key.kid === kid)).toBe(false);
  for (const alg of ["ES256", "RS256", "EdDSA"] as const) {
    expect(signingKey({ keys, revision: 0 }, alg, now)).toBeDefined();
    expect(signingKey({ keys, revision: 0 }, alg, now + 28 * day)).toBeDefined();
  }
  expect(findViolations(keys)).toEqual([]);
});

it("§4: the schedule survives an eviction", async () => {
  const before = await manager().schedule();
  await evictDurableObject(manager() as unknown as DurableObjectStub);
  expect(await manager().schedule()).toEqual(before);
});

it("A1: every change of the schedule has its audit event", async () => {
  const { keys } = await manager().schedule();
  const kid = ofAlgorithm({ keys, revision: 0 }, "ES256")[0]!.kid;
  await manager().revokeKey(kid, "op-1");
  await manager().revokeKey(kid, "op-1");
  vi.setSystemTime(start + day);
  await manager().rotate("RS256", "op-2");
  const events = await runInDurableObject(manager() as unknown as DurableObjectStub, (_, { storage }) =>
    storage.sql.exec<{ type: string }>("SELECT type FROM audit_outbox ORDER BY seq").toArray(),
  );
  expect(events.map(({ type }) => type)).toEqual(["keys.extended", "keys.revoked", "keys.rotated"]);
});
