import { expect, it } from "vitest";
import { parseTokenId, formatTokenId, fnv1a } from "@edge-op/shared/sharding/shard-address";
it("ids", () => { const t = "g1:wnam:3:abc.def"; expect(formatTokenId(parseTokenId(t)!)).toBe(t); expect(fnv1a("a")).toBe(0xe40c292c); });
