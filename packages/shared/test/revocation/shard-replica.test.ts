import { ShardReplica } from "@edge-op/shared/revocation/shard-replica";
import type { RevocationSubject } from "@edge-op/shared/revocation/token-status";
import * as fc from "fast-check";
import { expect, it } from "vitest";

const address = { generation: 1, region: "wnam", shard: 0 };

function knows(replica: ShardReplica, jti: string, changes: Partial<RevocationSubject> = {}): boolean {
  const subject = { address, jti, grantId: "", grantCreatedAtMs: 0, sub: "", clientId: "", lineage: [], ...changes };
  return replica.isRevoked(subject);
}

function lease(seq: number, jtis: readonly string[], snapshot = false, untilMs = 1_000_000_000) {
  const rows = jtis.map((jti) => ({ key: `j:${jti}`, untilMs }));
  return { kind: "lease", snapshot, seq, rows, cutOffs: [], leaseMs: 1_000, cv: 0 } as const;
}

it("I2: a lease counts from before it was asked for, and a later reply to an earlier call does not shorten it", () => {
  const replica = new ShardReplica();
  expect(replica.covers(0)).toBe(false);
  replica.install(lease(0, [], true), 5_000, -1);
  expect([replica.covers(5_999), replica.covers(6_000)]).toEqual([true, false]);
  expect([replica.isDue(5_499), replica.isDue(5_500)]).toEqual([false, true]);
  replica.install(lease(0, []), 4_500, 0);
  expect(replica.covers(5_999)).toBe(true);
});

it("replies in any order lose no row, and never make the next delta skip one", () => {
  // The shard's history: row n has number n. A reply is everything after what was asked for, up to then.
  const reply = (since: number, upTo: number) =>
    lease(
      upTo,
      Array.from({ length: upTo - Math.max(since, 0) }, (_, index) => `r${Math.max(since, 0) + index + 1}`),
      since < 0,
    );
  fc.assert(
    fc.property(fc.array(fc.record({ grows: fc.nat(3), late: fc.boolean() }), { maxLength: 20 }), (steps) => {
      const replica = new ShardReplica();
      let seq = 0;
      let pending: { readonly answer: ReturnType<typeof reply>; readonly since: number } | undefined;
      for (const { grows, late } of steps) {
        seq += grows;
        const since = replica.seq;
        const answer = reply(since, seq);
        if (late && pending === undefined) {
          pending = { answer, since };
          continue;
        }
        replica.install(answer, 0, since);
        for (let row = 1; row <= seq; row += 1) expect(knows(replica, `r${row}`)).toBe(true);
        if (pending !== undefined && !late) {
          replica.install(pending.answer, 0, pending.since);
          pending = undefined;
        }
      }
    }),
  );
});

it("a storage that began anew is followed by its own numbers", () => {
  const replica = new ShardReplica();
  replica.install(lease(100, ["old"], true), 0, -1);
  replica.install(lease(2, ["new"], true), 0, 100);
  expect(replica.seq).toBe(2);
  replica.install(lease(5, ["newer"]), 0, 2);
  expect(["old", "new", "newer"].map((jti) => knows(replica, jti))).toEqual([true, true, true]);
});

it("cut-offs combine by max", () => {
  const replica = new ShardReplica();
  const cutOff = (notBeforeMs: number) => ({ key: "nb:sub:alice", notBeforeMs, untilMs: 1_000_000_000 });
  replica.install({ ...lease(1, [], true), cutOffs: [cutOff(20)] }, 0, -1);
  replica.install({ ...lease(2, []), cutOffs: [cutOff(10)] }, 0, 1);
  expect(knows(replica, "x", { sub: "alice", grantCreatedAtMs: 20 })).toBe(true);
  expect(knows(replica, "x", { sub: "alice", grantCreatedAtMs: 21 })).toBe(false);
  expect(knows(replica, "x", { sub: "bob", grantCreatedAtMs: 20 })).toBe(false);
});

it("rows die a minute after their time, for clocks that are ahead of the one that wrote it", () => {
  const replica = new ShardReplica();
  replica.install(lease(1, ["a"], true, 1_000_000), 1_000_000, -1);
  replica.install(lease(1, []), 1_059_999, 1);
  expect(knows(replica, "a")).toBe(true);
  replica.install(lease(1, []), 1_130_000, 1);
  expect(knows(replica, "a")).toBe(false);
  expect(replica.size).toBe(0);
});

it("a delta that arrives after the replica was cleared is no lease: the rows before it are gone", () => {
  const replica = new ShardReplica();
  replica.install(lease(5, ["revoked"], true), 0, -1);
  const sinceSeq = replica.seq;
  replica.clear();
  replica.install(lease(6, ["later"]), 0, sinceSeq);
  expect([replica.covers(500), replica.seq]).toEqual([false, -1]);
  replica.install(lease(6, ["revoked", "later"], true), 0, replica.seq);
  expect([replica.covers(500), knows(replica, "revoked"), knows(replica, "later")]).toEqual([true, true, true]);
});
