import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { GrantPlace, GrantRevocation, RevokeRequest } from "@edge-op/shared/grants/grant-revocation";
import type { RevocationShard } from "@edge-op/shared/leases/revocation-shard-rpc";
import type { RefreshTokenRotatorRpc } from "@edge-op/shared/refresh/refresh-family-rpc";
import { describe, expect, it, vi } from "vitest";
import { GrantRevocations } from "../src/revocation/grant-revocations.ts";
import { AlarmSchedule } from "../src/wake/alarm-schedule.ts";

const { CHALLENGE_STORE, REFRESH_TOKEN_ROTATOR, TOKEN_REVOCATION_STORE } = env as unknown as {
  readonly CHALLENGE_STORE: DurableObjectNamespace;
  readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotatorRpc>;
  readonly TOKEN_REVOCATION_STORE: DurableObjectNamespace<RevocationShard>;
};
const start = Date.parse("2030-01-01T00:00:00Z");

function revocation(grantId: string, shard: number, untilMs = start + 3_600_000): GrantRevocation {
  const address = { generation: 1, region: "wnam", shard };
  return { grant: { grantId, address }, clientId: "app", reason: "session_ended", untilMs };
}

/** Revocations of a real object and their real shards; the calls are recorded, and some shards do not respond. */
class Fixtures {
  readonly revocations: GrantRevocations;
  readonly calls: { readonly shard: string; readonly keys: readonly string[] }[] = [];
  down = new Set<string>();
  /** The places of families that have been used. */
  readonly places = new Map<string, readonly GrantPlace[]>();

  constructor(ctx: DurableObjectState) {
    const getByName = (shard: string) => ({
      revoke: async (requests: readonly RevokeRequest[], wait: boolean) => {
        this.calls.push({ shard, keys: requests.map(({ key }) => key) });
        if (this.down.has(shard)) throw new Error("down");
        return TOKEN_REVOCATION_STORE.getByName(shard).revoke(requests, wait);
      },
      check: async () => TOKEN_REVOCATION_STORE.getByName(shard).check([], [], -1),
    });
    const namespace = { getByName } as unknown as DurableObjectNamespace<RevocationShard>;
    const rotators = {
      getByName: (shard: string) => ({
        kill: async (...args: Parameters<RefreshTokenRotatorRpc["kill"]>) => {
          this.calls.push({ shard, keys: [args[0]] });
          if (this.down.has(shard)) throw new Error("down");
          const { kind, ...state } = await REFRESH_TOKEN_ROTATOR.getByName(shard).kill(...args);
          const places = this.places.get(args[0]);
          return places === undefined ? { kind, ...state } : { kind: "found", snapshot: { successor: { places } } };
        },
      }),
    } as unknown as DurableObjectNamespace<RefreshTokenRotatorRpc>;
    this.revocations = new GrantRevocations(
      ctx,
      { ISSUER: "https://op.example.com", TOKEN_REVOCATION_STORE: namespace, REFRESH_TOKEN_ROTATOR: rotators },
      new AlarmSchedule(ctx),
    );
    vi.spyOn(console, "error").mockImplementation(() => {});
  }

  /** Flushes like the alarm, again while more is due; returns the time at which nothing is due. */
  async flushAll(atMs: number): Promise<number | undefined> {
    for (let round = 0; round < 100; round += 1) {
      const next = await this.revocations.flush(atMs + round, atMs);
      if (next === undefined || next > atMs + round) return next;
    }
    throw new Error("the flush came to no end");
  }
}

function inFixtures(work: (fixtures: Fixtures) => Promise<void>): Promise<void> {
  return runInDurableObject(CHALLENGE_STORE.getByName("revocations"), (_, ctx) => work(new Fixtures(ctx)));
}

it("R3: hundreds of grants of an unreachable shard delay no other grant, not even later ones", () =>
  inFixtures(async (fixtures) => {
    fixtures.down.add("revocation:g1:wnam:0");
    for (let index = 0; index < 300; index += 1) fixtures.revocations.add(revocation(`dead-${index}`, 0), start);
    fixtures.revocations.add(revocation("live", 1, start + 7_200_000), start);
    expect(await fixtures.flushAll(start + 500)).toBeGreaterThanOrEqual(start + 2_500);
    expect(fixtures.calls.filter(({ shard }) => shard.endsWith(":1"))).toEqual([
      { shard: "revocation:g1:wnam:1", keys: ["g:live"] },
    ]);
    // The unreachable shard was called once, not once per grant.
    expect(fixtures.calls.filter(({ shard }) => shard.endsWith(":0"))).toHaveLength(1);
    expect(fixtures.revocations.find("live")).toBe(undefined);
    expect(fixtures.revocations.find("dead-0")).toBeDefined();

    fixtures.revocations.add(revocation("later", 2, start + 7_200_000), start + 1_000);
    await fixtures.flushAll(start + 2_500);
    expect(fixtures.revocations.find("later")).toBe(undefined);

    fixtures.down.clear();
    expect(await fixtures.flushAll(start + 10_000)).toBe(undefined);
    expect(fixtures.revocations.find("dead-299")).toBe(undefined);
    const sent = fixtures.calls.filter(({ shard }) => shard.endsWith(":0")).flatMap(({ keys }) => keys);
    expect(new Set(sent).size).toBe(300);
  }));

it("R3: many unreachable shards are tried in turn", () =>
  inFixtures(async (fixtures) => {
    for (let shard = 0; shard < 8; shard += 1) {
      fixtures.down.add(`revocation:g1:wnam:${shard}`);
      for (let index = 0; index < 60; index += 1)
        fixtures.revocations.add(revocation(`${shard}-${index}`, shard), start);
    }
    fixtures.revocations.add(revocation("live", 9), start);
    await fixtures.flushAll(start + 500);
    expect(fixtures.revocations.find("live")).toBe(undefined);
    expect(new Set(fixtures.calls.map(({ shard }) => shard)).size).toBe(9);
  }));

describe("R3: a grant with a refresh family", () => {
  const untilMs = start + 3_600_000;
  const place = (shard: number, generation = 1): GrantPlace => ({
    address: { generation, region: "wnam", shard },
    untilMs,
  });
  const withFamily = (grantId: string, family: number): GrantRevocation => ({
    ...revocation(grantId, 1),
    family: { address: place(family).address, tokensEndAtMs: start + 60_000 },
  });
  const sentTo = ({ calls }: Fixtures, shard: string) =>
    calls.filter((call) => call.shard === shard).map(({ keys }) => keys);

  it("delays no other grant while the shard of its family does not respond, and has no row before", () =>
    inFixtures(async (fixtures) => {
      fixtures.down.add("refresh:g1:wnam:0");
      for (let index = 0; index < 100; index += 1) fixtures.revocations.add(withFamily(`dead-${index}`, 0), start);
      fixtures.revocations.add({ ...withFamily("live", 2), untilMs: start + 7_200_000 }, start);
      expect(await fixtures.flushAll(start + 500)).toBeGreaterThanOrEqual(start + 2_500);
      expect(fixtures.revocations.find("live")).toBe(undefined);
      expect(sentTo(fixtures, "revocation:g1:wnam:1")).toEqual([["g:live"]]);
      fixtures.down.clear();
      expect(await fixtures.flushAll(start + 10_000)).toBe(undefined);
      expect(sentTo(fixtures, "revocation:g1:wnam:1").flat()).toHaveLength(101);
    }));

  it("stays due until each of its places has acknowledged; its family is asked for them once", () =>
    inFixtures(async (fixtures) => {
      fixtures.places.set("moved", [place(4), place(5, 2)]);
      fixtures.down.add("revocation:g2:wnam:5");
      fixtures.revocations.add(withFamily("moved", 0), start);
      await fixtures.flushAll(start + 500);
      for (const shard of ["revocation:g1:wnam:1", "revocation:g1:wnam:4"])
        expect(sentTo(fixtures, shard)).toEqual([["g:moved"]]);
      expect(fixtures.revocations.find("moved")).toMatchObject({
        places: [place(4), place(5, 2), place(1)].map(({ address }) => ({ address })),
      });
      fixtures.down.clear();
      expect(await fixtures.flushAll(start + 10_000)).toBe(undefined);
      expect(sentTo(fixtures, "revocation:g2:wnam:5")).toHaveLength(2);
      expect(sentTo(fixtures, "refresh:g1:wnam:0")).toEqual([["moved"]]);
      expect(fixtures.revocations.find("moved")).toBe(undefined);
    }));
});

it("ADR 15: a clock that jumps ahead drops no due revocation", () =>
  inFixtures(async (fixtures) => {
    fixtures.down.add("revocation:g1:wnam:0");
    fixtures.revocations.add(revocation("grant", 0), start);
    await fixtures.revocations.flush(start + 365 * 86_400_000, start + 500);
    expect(fixtures.revocations.find("grant")).toBeDefined();
    expect(await fixtures.revocations.flush(start + 3_600_000, start + 3_600_000)).toBe(undefined);
    expect(fixtures.revocations.find("grant")).toBe(undefined);
  }));

it("R3: a revocation is due until the last isolate that could decide without it has confirmed it; a repetition finds it", () =>
  inFixtures(async (fixtures) => {
    const shard = TOKEN_REVOCATION_STORE.getByName("revocation:g1:wnam:4");
    const request = {
      sinceSeq: -1,
      confirmedSeq: -1,
      filterSeq: -1,
      sinceCv: -1,
      leaseMs: 10_000,
      hold: false,
    } as const;
    await shard.lease({ ...request, holder: "isolate" });
    fixtures.revocations.add(revocation("grant", 4), start);
    const flushed = fixtures.revocations.flush(start + 500, start + 500);
    await expect.poll(() => shard.check(["g:grant"], [], -1)).toMatchObject({ revoked: ["g:grant"] });
    // The isolate's lease does not contain the row yet.
    expect(await Promise.race([flushed, scheduler.wait(50).then(() => "waits")])).toBe("waits");
    expect(fixtures.revocations.find("grant")).toBeDefined();
    await shard.release("isolate");
    expect(await flushed).toBe(undefined);
    expect(fixtures.revocations.find("grant")).toBe(undefined);
  }));
