import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { reportFacts } from "@edge-op/shared/http/report-facts";
import { keyFingerprint } from "@edge-op/shared/secrets/deployment-facts";
import { expect, it } from "vitest";

const key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const token = "token-of-the-operator";
const env = async () => ({
  OP_MASTER_KEY: key,
  VERSION: { id: "v-1", tag: "", timestamp: "2026-11-22T08:00:00Z" },
  FACTS_TOKEN_SHA256: encodeBase64Url(await sha256(token)),
});
const execution = {
  waitUntil: () => undefined,
  passThroughOnException: () => undefined,
} as unknown as ExecutionContext;

async function send(bindings: object, sent: string | undefined): Promise<unknown> {
  const worker = reportFacts("op-token", () => Response.json("served"));
  const headers: HeadersInit = sent === undefined ? {} : { "Edge-OP-Facts": sent };
  const response = await worker(new Request("https://op.example.com/token", { headers }), bindings, execution);
  return response.json();
}

it("the holder of the token learns version and fingerprint; the secret itself is in no response", async () => {
  const body = await send(await env(), token);
  expect(body).toEqual({ worker: "op-token", version: "v-1", keys: { OP_MASTER_KEY: await keyFingerprint(key) } });
  expect(JSON.stringify(body)).not.toContain(key);
});

it("without the token, or in a deployment without one, the request is served as usual", async () => {
  const bindings = await env();
  expect(await send(bindings, undefined)).toBe("served");
  expect(await send(bindings, "another")).toBe("served");
  expect(await send({ ...bindings, FACTS_TOKEN_SHA256: undefined }, token)).toBe("served");
  expect(await send({ ...bindings, FACTS_TOKEN_SHA256: "" }, "")).toBe("served");
});

it("a fingerprint identifies a key, and a text that is not a key has none", async () => {
  expect(await keyFingerprint(key)).toMatch(/^[\w-]{11}$/);
  expect(await keyFingerprint(key)).toBe(await keyFingerprint(key));
  expect(await keyFingerprint(`B${key.slice(1)}`)).not.toBe(await keyFingerprint(key));
  expect(await keyFingerprint("short")).toBeUndefined();
});
