import { fnv1a, formatTokenId, parseTokenId } from "@edge-op/shared/sharding/shard-address";
import { expect, it } from "vitest";

it("ids", () => {
  const t = "g1:wnam:3:abc.def";
  expect(formatTokenId(parseTokenId(t)!)).toBe(t);
  expect(fnv1a("a")).toBe(0xe40c292c);
});
