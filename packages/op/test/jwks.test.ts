import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { keyAlgorithms } from "@edge-op/protocol/jwt/key-algorithms";
import { ControlView } from "@edge-op/shared/control/control-view";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { createRequestContext } from "@edge-op/shared/http/request-context";
import { KeyRing } from "@edge-op/shared/keys/key-ring";
import {
  type KeyManagerRpc,
  type KeySchedule,
  keyManagerName,
  type ScheduledKey,
  signingKey,
} from "@edge-op/shared/keys/key-schedule";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import type { FrontDoorEnv } from "@edge-op/workers/env";
import { createLocalJWKSet, jwtVerify } from "jose";
import { expect, it } from "vitest";
import { call } from "../../../test/fixtures/call.ts";
import { createApp } from "../src/app.ts";
import { PublishedKeys } from "../src/published-keys.ts";
import { publishChange } from "./fixtures/publish-change.ts";

const bindings = env as unknown as FrontDoorEnv & MasterKeyBindings;
const away = {
  idFromName: () => ({}),
  getByName: () => ({ schedule: () => Promise.reject(new Error("away")) }),
} as unknown as DurableObjectNamespace<KeyManagerRpc> & FrontDoorEnv["TOKEN_REVOCATION_STORE"];

interface Jwks {
  readonly keys: readonly (JsonWebKey & { kid: string; kty: string })[];
}

function manager() {
  return bindings.KEY_MANAGER.getByName(keyManagerName);
}

it("RFC 7517 §5: the signing keys, their announced successors, and encryption keys; public members only, cached for five minutes", async () => {
  const response = await call(createApp(), bindings, "/jwks");
  expect(response.status).toBe(200);
  expect(response.headers.get("Cache-Control")).toBe("public, max-age=300");
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
  const { keys } = await response.json<Jwks>();
  const algorithms = (use: string) => keys.filter((key) => key.use === use).map(({ alg }) => alg);
  const signing = ["ES256", "ES256", "EdDSA", "EdDSA", "PS256", "PS256", "RS256", "RS256"];
  expect(algorithms("sig").sort()).toEqual(signing);
  expect(algorithms("enc").sort()).toEqual(["ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A256KW", "RSA-OAEP-256"]);
  expect(keys.slice(0, signing.length).every(({ use }) => use === "sig")).toBe(true);
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(12);
  const members = {
    RSA: ["alg", "e", "kid", "kty", "n", "use"],
    EC: ["alg", "crv", "kid", "kty", "use", "x", "y"],
    OKP: ["alg", "crv", "kid", "kty", "use", "x"],
  } as const;
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(members[key.kty as keyof typeof members]);
});

it("OIDC Core §10.1: signatures of each algorithm verify with the set", async () => {
  const jwks = await (await call(createApp(), bindings, "/jwks")).json<Jwks>();
  const ring = new KeyRing(new ControlView());
  for (const alg of ["ES256", "RS256", "EdDSA", "PS256"] as const) {
    const execution = createExecutionContext();
    const context = createRequestContext(new Request("https://op.example.com/"), bindings, execution);
    const token = await ring.sign(context, { alg, typ: "JWT", claims: { sub: "alice" } });
    await waitOnExecutionContext(execution);
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys: [...jwks.keys] }));
    expect(payload).toEqual({ sub: "alice" });
    expect(protectedHeader.alg).toBe(alg);
  }
});

it("the set is recreated for another schedule, and when a key appears or disappears", async () => {
  const key = (kid: string, publishAtMs: number, retireAtMs: number): ScheduledKey => ({
    ...{ kid, alg: "ES256", publicJwk: { kty: "EC", kid } as JsonWebKey, wrappedPrivateKey: "" },
    ...{ publishAtMs, signFromMs: publishAtMs, signUntilMs: retireAtMs, retireAtMs },
  });
  const schedule = { keys: [key("old", 0, 200), key("new", 100, 300)], revision: 1 };
  const published = new PublishedKeys();
  const kidsAt = async (atMs: number, at: KeySchedule = schedule) =>
    (JSON.parse((await published.at(at, atMs)).respond(new Request("https://op.example.com/")).text!) as Jwks).keys.map(
      ({ kid }) => kid,
    );
  expect(await kidsAt(99)).toEqual(["old"]);
  expect(await published.at(schedule, 60)).toBe(await published.at(schedule, 99));
  expect(await kidsAt(100)).toEqual(["old", "new"]);
  expect(await kidsAt(199)).toEqual(["old", "new"]);
  expect(await kidsAt(200)).toEqual(["new"]);
  expect(await kidsAt(300)).toEqual([]);
  expect(await kidsAt(150, { keys: [key("other", 0, 300)], revision: 2 })).toEqual(["other"]);
});

it("ADR 6: an encryption key is in the set exactly while it is current", async () => {
  const times = { publishAtMs: 0, signFromMs: 100, signUntilMs: 200, retireAtMs: 300 };
  const key: ScheduledKey = { kid: "k", alg: "ECDH-ES", publicJwk: { kty: "EC" }, wrappedPrivateKey: "", ...times };
  const published = new PublishedKeys();
  const schedule = { keys: [key], revision: 1 };
  const sizes = [99, 100, 199, 200, 299].map(async (atMs) => {
    const text = (await published.at(schedule, atMs)).respond(new Request("https://op.example.com/")).text!;
    return (JSON.parse(text) as Jwks).keys.length;
  });
  expect(await Promise.all(sizes)).toEqual([0, 1, 1, 0, 0]);
});

it("ADR 6: a copy of the schedule without wanted keys is renewed by one call; without KeyManager it is served", async () => {
  const execution = createExecutionContext();
  const context = createRequestContext(new Request("https://op.example.com/"), bindings, execution);
  const control = new ControlView();
  await control.observe(context, 1);
  await new KeyRing(control).schedule(context);
  await waitOnExecutionContext(execution);
  const keysOf = async (env: FrontDoorEnv) => {
    const response = await call(createApp(), env, "/jwks");
    return (await response.json<Jwks>()).keys.length;
  };
  expect(await keysOf({ ...bindings, KEY_MANAGER: away })).toBe(6);
  expect(await keysOf(bindings)).toBe(12);
});

it.each([
  ["strict", 0],
  ["direct", 1],
])("a warm request in %s mode: %i object calls, 0 KV, 0 D1", async (mode, object) => {
  const app = createApp();
  const counts = { object: 0, kv: 0, d1: 0 };
  const counted = countCalls({ ...bindings, REVOCATION_MODE: mode }, counts);
  await call(app, counted, "/jwks");
  // Until the new keys have been announced.
  await manager().schedule([...keyAlgorithms], true);
  for (let warmUp = 0; warmUp < 2; warmUp += 1) await call(app, counted, "/jwks");
  Object.assign(counts, { object: 0, kv: 0, d1: 0 });
  expect((await call(app, counted, "/jwks")).status).toBe(200);
  expect(counts).toEqual({ object, kv: 0, d1: 0 });
});

it("protocols.md §4: a revoked key is removed from a warm front door once the change is published", async () => {
  const app = createApp();
  const before = await (await call(app, bindings, "/jwks")).json<Jwks>();
  const { kid } = signingKey(await manager().schedule(), "ES256", Date.now())!;
  expect(before.keys.some((key) => key.kid === kid)).toBe(true);

  await manager().revokeKey(kid, "op-1");
  await publishChange("keys");
  const after = await (await call(app, bindings, "/jwks")).json<Jwks>();
  expect(after.keys.some((key) => key.kid === kid)).toBe(false);
  expect(after.keys).toHaveLength(12);
});

it("protocols.md §4: without KeyManager and the revocation shards, a warm front door continues with its copy", async () => {
  const app = createApp();
  const before = await (await call(app, bindings, "/jwks")).json();
  const response = await call(app, { ...bindings, KEY_MANAGER: away, TOKEN_REVOCATION_STORE: away }, "/jwks");
  expect(await response.json()).toEqual(before);
});

it("without any schedule the keys are unavailable: 503, never an empty set", async () => {
  const response = await call(createApp(), { ...bindings, KEY_MANAGER: away }, "/jwks");
  expect(response.status).toBe(503);
  expect(response.headers.get("Retry-After")).toBe("1");
});
