import { expect, it } from "vitest";
import { leaseTiming } from "../../src/config/lease-timing.ts";
import { neededPlaces } from "../../src/grants/grant-revocation.ts";

it("ADR 16: a place needs a row while a clock that is behind accepts a token there; the last place always has one", () => {
  const nowMs = Date.parse("2035-01-01T00:00:00Z");
  const behindMs = nowMs - leaseTiming.clockOffsetMs;
  const place = (shard: number, untilMs: number) => ({ address: { generation: 1, region: "wnam", shard }, untilMs });
  const shardsOf = (...untilMs: readonly number[]) =>
    neededPlaces(
      untilMs.map((each, shard) => place(shard, each)),
      nowMs,
    ).map(({ address }) => address.shard);
  expect(shardsOf(behindMs, behindMs + 1, nowMs, nowMs + 1)).toEqual([1, 2, 3]);
  expect(shardsOf(behindMs - 1, behindMs)).toEqual([1]);
});
