import { fnv1a } from "@edge-op/protocol/encoding/bytes";
import { expect, it } from "vitest";
import { formatTokenId, parseTokenId } from "../../src/storage/shard-address.ts";

it("a token id is written as it was read, and contains its shard", () => {
  const text = "g1:wnam:3:abc.def";
  const id = parseTokenId(text);
  expect(id?.address).toEqual({ generation: 1, region: "wnam", shard: 3 });
  expect(id && formatTokenId(id)).toBe(text);
});

it.each([
  "",
  "g1:wnam:3",
  "g0:wnam:3:abc.def",
  "g1:wnam:-3:abc.def",
  "g1:wnam:03:abc.def",
  "1:wnam:3:abc.def",
  "g1:wnam:1234567:abc.def",
  "g1:wnam:3:abc.def:",
])("a text that is not a token id has no shard: %j", (text) => {
  expect(parseTokenId(text)).toBeUndefined();
});

it("FNV-1a returns its published value for one octet", () => {
  expect(fnv1a("a")).toBe(0xe40c292c);
});
