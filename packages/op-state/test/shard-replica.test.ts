import { newGrantId } from "@edge-op/shared/grants/grant";
import type { LeaseRequest } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RevocationSubject } from "@edge-op/shared/leases/revocation-subject";
import { ShardReplica } from "@edge-op/shared/leases/shard-replica";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { buildSmallRowFilter, FilterKeys } from "../src/revocation/build-row-filter.ts";

const address = { generation: 1, region: "wnam", shard: 0 };

function knows(replica: ShardReplica, jti: string, changes: Partial<RevocationSubject> = {}): boolean {
  const subject = { address, jti, grantId: "", sub: "", clientId: "", lineage: [], ...changes };
  return replica.isRevoked(subject);
}

function lease(seq: number, jtis: readonly string[], snapshot = false, untilMs = 1_000_000_000) {
  const rows = jtis.map((jti) => ({ key: `j:${jti}`, untilMs }));
  return { kind: "lease", snapshot, seq, rows, cutOffs: [], leaseMs: 1_000, heldMs: 0, cv: 0, changes: [] } as const;
}

/** The current request of the replica. */
function request(replica: ShardReplica) {
  return replica.request(1_000, 0, true);
}

it("I2: a lease counts from before it was requested, and a later response to an earlier call does not shorten it", () => {
  const replica = new ShardReplica();
  expect(replica.covers(0)).toBe(false);
  replica.install(lease(0, [], true), request(replica), 5_000);
  expect([replica.covers(5_999), replica.covers(6_000)]).toEqual([true, false]);
  replica.install(lease(0, []), request(replica), 4_500);
  expect(replica.covers(5_999)).toBe(true);
});

it("I2: a held request counts from the earliest moment at which it can have been granted", () => {
  const replica = new ShardReplica();
  replica.install({ ...lease(0, [], true), heldMs: 510 }, request(replica), 5_000);
  // 510 ms by a clock that is 2 % fast, measured by one that is 2 % slow: 490 ms.
  expect([replica.covers(6_489), replica.covers(6_490)]).toEqual([true, false]);
});

it("I1: a request confirms the installed changes, and no earlier ones", () => {
  const replica = new ShardReplica();
  expect(request(replica)).toMatchObject({ sinceSeq: -1, confirmedSeq: -1 });
  replica.install(lease(7, ["a"], true), request(replica), 0);
  expect(request(replica)).toMatchObject({ sinceSeq: 7, confirmedSeq: 7 });
});

it("I2: a response to a replica that has released its lease is not installed", () => {
  const replica = new ShardReplica();
  replica.install(lease(1, ["a"], true), request(replica), 0);
  const late = request(replica);
  expect(replica.lapse()).toBe(late.holder);
  replica.install(lease(1, []), late, 0);
  expect(replica.covers(500)).toBe(false);
  expect(request(replica).holder).not.toBe(late.holder);
  expect(request(replica), "the rows stay").toMatchObject({ sinceSeq: 1 });
});

it("responses in any order lose no row, and never make the next delta skip one", () => {
  // The shard's history: row n has number n. A response contains everything after the requested number, up to the current one.
  const respond = (since: number, upTo: number) =>
    lease(
      upTo,
      Array.from({ length: upTo - Math.max(since, 0) }, (_, index) => `r${Math.max(since, 0) + index + 1}`),
      since < 0,
    );
  fc.assert(
    fc.property(fc.array(fc.record({ grows: fc.nat(3), late: fc.boolean() }), { maxLength: 20 }), (steps) => {
      const replica = new ShardReplica();
      let seq = 0;
      let pending: { readonly response: ReturnType<typeof respond>; readonly request: LeaseRequest } | undefined;
      for (const { grows, late } of steps) {
        seq += grows;
        const sent = request(replica);
        const response = respond(sent.sinceSeq, seq);
        if (late && pending === undefined) {
          pending = { response, request: sent };
          continue;
        }
        replica.install(response, sent, 0);
        for (let row = 1; row <= seq; row += 1) expect(knows(replica, `r${row}`)).toBe(true);
        if (pending !== undefined && !late) {
          replica.install(pending.response, pending.request, 0);
          pending = undefined;
        }
      }
    }),
  );
});

it("a replica follows the numbers of a storage that was reset", () => {
  const replica = new ShardReplica();
  replica.install(lease(100, ["old"], true), request(replica), 0);
  const { holder } = request(replica);
  replica.install(lease(2, ["new"], true), request(replica), 0);
  expect(request(replica)).toMatchObject({ sinceSeq: -1, confirmedSeq: -1 });
  expect(request(replica).holder).not.toBe(holder);
  replica.install(lease(2, ["new"], true), request(replica), 0);
  replica.install(lease(5, ["newer"]), request(replica), 0);
  expect(["old", "new", "newer"].map((jti) => knows(replica, jti))).toEqual([true, true, true]);
});

it("cut-offs combine by maximum", () => {
  const replica = new ShardReplica();
  const cutOff = (version: number) => ({ key: "nb:sub:alice", version, untilMs: 1_000_000_000 });
  const grant = (version: number) => newGrantId({ client: version, user: version });
  replica.install({ ...lease(1, [], true), cutOffs: [cutOff(20)] }, request(replica), 0);
  replica.install({ ...lease(2, []), cutOffs: [cutOff(10)] }, request(replica), 0);
  expect(knows(replica, "x", { sub: "alice", grantId: grant(19) })).toBe(true);
  expect(knows(replica, "x", { sub: "alice", grantId: grant(20) })).toBe(false);
  expect(knows(replica, "x", { sub: "bob", grantId: grant(19) })).toBe(false);
});

it("rows expire a minute after their time, for clocks that are ahead of the one that wrote them", () => {
  const replica = new ShardReplica();
  replica.install(lease(1, ["a"], true, 1_000_000), request(replica), 1_000_000);
  replica.install(lease(1, []), request(replica), 1_059_999);
  expect(knows(replica, "a")).toBe(true);
  replica.install(lease(1, []), request(replica), 1_130_000);
  expect(knows(replica, "a")).toBe(false);
  expect(replica.bytes).toBe(0);
});

it("a delta that arrives after the replica was cleared grants no lease, because the earlier rows are missing", () => {
  const replica = new ShardReplica();
  replica.install(lease(5, ["revoked"], true), request(replica), 0);
  const late = request(replica);
  replica.clear();
  replica.install(lease(6, ["later"]), late, 0);
  expect([replica.covers(500), replica.seq]).toEqual([false, -1]);
  replica.install(lease(6, ["revoked", "later"], true), request(replica), 0);
  expect([replica.covers(500), knows(replica, "revoked"), knows(replica, "later")]).toEqual([true, true, true]);
});

function filterOf(seq: number, jtis: readonly string[], untilMs = 1_000_000_000) {
  const keys = new FilterKeys({ k0: 1, k1: 2 });
  for (const jti of jtis) keys.add(`j:${jti}`);
  let seed = 1;
  return { seq, untilMs, bytes: buildSmallRowFilter(keys, () => (seed += 0x9e3779b9))! };
}

function subject(jti: string): RevocationSubject {
  return { address, jti, grantId: "", sub: "", clientId: "", lineage: [] };
}

const alive = { revoked: [], cutOffs: [], seq: 10, cv: 0, changes: [] };

it("keys in the filter are checked exactly, later rows are revoked, and all other keys are not", () => {
  const replica = new ShardReplica();
  replica.install({ ...lease(12, ["c"], true), filter: filterOf(10, ["a", "b"]) }, request(replica), 0);
  expect(request(replica)).toMatchObject({ sinceSeq: 12, confirmedSeq: 12, filterSeq: 10 });
  expect(["a", "c", "d"].map((jti) => knows(replica, jti))).toEqual([false, true, false]);
  expect(["a", "b", "d"].map((jti) => replica.needsCheck(subject(jti)))).toEqual([true, true, false]);
  replica.rememberCheck()(subject("a"), { ...alive, revoked: ["j:a"] });
  expect(knows(replica, "a")).toBe(true);
});

it("an absent key is not checked again, until a delta revokes it or a later filter contains it", () => {
  const replica = new ShardReplica();
  replica.install({ ...lease(10, [], true), filter: filterOf(10, ["x", "y"]) }, request(replica), 0);
  replica.rememberCheck()(subject("x"), alive);
  expect([replica.needsCheck(subject("x")), replica.needsCheck(subject("y"))]).toEqual([false, true]);
  replica.install(lease(11, ["x"]), request(replica), 0);
  expect(knows(replica, "x")).toBe(true);
  replica.install({ ...lease(20, [], true), filter: filterOf(20, ["x"]) }, request(replica), 0);
  expect([knows(replica, "x"), replica.needsCheck(subject("x"))]).toEqual([false, true]);
});

it("a check is not remembered for a filter that was installed meanwhile, nor from an instance that lacks its rows", () => {
  const replica = new ShardReplica();
  replica.install({ ...lease(10, [], true), filter: filterOf(10, ["x"]) }, request(replica), 0);
  const remember = replica.rememberCheck();
  replica.install({ ...lease(20, [], true), filter: filterOf(20, ["x"]) }, request(replica), 0);
  remember(subject("x"), { ...alive, seq: 19 });
  expect(replica.needsCheck(subject("x"))).toBe(true);
  replica.rememberCheck()(subject("x"), { ...alive, seq: 19 });
  expect(replica.needsCheck(subject("x"))).toBe(true);
  replica.rememberCheck()(subject("x"), { ...alive, seq: 20 });
  expect(replica.needsCheck(subject("x"))).toBe(false);
});

it("a late snapshot with an older filter replaces nothing", () => {
  const replica = new ShardReplica();
  const late = request(replica);
  replica.install({ ...lease(20, ["after"], true), filter: filterOf(18, ["a"]) }, request(replica), 0);
  replica.install({ ...lease(15, [], true), filter: filterOf(14, ["b"]) }, late, 0);
  expect(request(replica)).toMatchObject({ sinceSeq: 20, filterSeq: 18 });
  expect([knows(replica, "after"), replica.needsCheck(subject("a"))]).toEqual([true, true]);
});

it("a filter is discarded a minute after its last row has expired", () => {
  const replica = new ShardReplica();
  const first = { ...lease(1, [], true), filter: filterOf(1, ["a"], 1_000_000) };
  replica.install(first, request(replica), 1_000_000);
  replica.install(lease(1, []), request(replica), 1_059_999);
  expect(replica.needsCheck(subject("a"))).toBe(true);
  replica.install(lease(1, []), request(replica), 1_130_000);
  expect([replica.needsCheck(subject("a")), replica.bytes, request(replica).filterSeq]).toEqual([false, 0, 1]);
});
