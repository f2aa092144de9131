import { canonicalJson, chainStart, chainText } from "@edge-op/shared/audit/audit-event";
import { expect, it } from "vitest";
import { hashEvent } from "../src/audit/verify-chain.ts";

it("equal payloads have equal text, regardless of the order of their members", () => {
  expect(canonicalJson({ b: 1, a: { d: [2, { f: 3, e: 4 }], c: null } })).toBe(
    '{"a":{"c":null,"d":[2,{"e":4,"f":3}]},"b":1}',
  );
});

it("members without a JSON representation are omitted", () => {
  expect(canonicalJson({ b: undefined, a: 1 })).toBe('{"a":1}');
});

it("an event's hash is SHA-256 over the previous hash and all members of the event", async () => {
  const event = {
    shard: "revocation:g1:wnam:0",
    seq: 1,
    atMs: 1_893_456_000_000,
    type: "revoked",
    payload: '{"key":"j:1"}',
    previous: chainStart,
  };
  expect(chainText(event)).toBe(
    `["${"0".repeat(64)}","revocation:g1:wnam:0",1,1893456000000,"revoked","{\\"key\\":\\"j:1\\"}"]`,
  );
  expect(await hashEvent(event)).toMatch(/^[0-9a-f]{64}$/);
});
