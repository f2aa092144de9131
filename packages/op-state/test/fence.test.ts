import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { keyManagerName } from "@edge-op/shared/keys/key-schedule";
import { controlPlaneName } from "@edge-op/shared/storage/shard-address";
import { expect, it } from "vitest";
import type { AuthorizationCodeStore } from "../src/codes/authorization-code-store.ts";
import type { ControlPlane } from "../src/control/control-plane.ts";
import type { KeyManager } from "../src/keys/key-manager.ts";
import type { RefreshTokenRotator } from "../src/refresh/refresh-token-rotator.ts";
import type { SessionStore } from "../src/sessions/session-store.ts";

const { AUTHORIZATION_CODE_STORE, CONTROL_PLANE, KEY_MANAGER, REFRESH_TOKEN_ROTATOR, SESSION_STORE } =
  env as unknown as {
    readonly AUTHORIZATION_CODE_STORE: DurableObjectNamespace<AuthorizationCodeStore>;
    readonly CONTROL_PLANE: DurableObjectNamespace<ControlPlane>;
    readonly KEY_MANAGER: DurableObjectNamespace<KeyManager>;
    readonly REFRESH_TOKEN_ROTATOR: DurableObjectNamespace<RefreshTokenRotator>;
    readonly SESSION_STORE: DurableObjectNamespace<SessionStore>;
  };

const keys = () => KEY_MANAGER.getByName(keyManagerName);
const plane = () => CONTROL_PLANE.getByName(controlPlaneName);
const sessions = () => SESSION_STORE.getByName("session:g1:wnam:0");
const codes = () => AUTHORIZATION_CODE_STORE.getByName("code:g1:wnam:0");
const families = () => REFRESH_TOKEN_ROTATOR.getByName("refresh:g1:wnam:0");

function passes(stub: DurableObjectStub): Promise<number> {
  return runInDurableObject(
    stub,
    (_, { storage }) => storage.sql.exec<{ passes: number }>("SELECT passes FROM fence").one().passes,
  );
}

const session = {
  key: "key-1",
  sid: "sid-1",
  sub: "alice",
  signedInAtMs: 1,
  proofs: [{ method: "boundPasskey", sub: "alice", atMs: 1, controlVersion: 0 }],
  idleMs: 86_400_000,
  endsAtMs: Date.now() + 86_400_000,
} as const;
const grant = { grantId: "grant", address: { generation: 1, region: "wnam", shard: 2 }, grantCreatedAtMs: 0 };
const expired = {
  ...{ id: "none", operationId: "o", expiresAtMs: 0, refusal: undefined, isUnchecked: false, origin: {} },
  revocation: { grant, clientId: "app", reason: "code_replayed", untilMs: 0 },
  redeemed: { grant, clientId: "app", sub: "alice", scope: [] },
} as const;

/** Each of them responds with what it reads; without a write, a superseded instance would respond with outdated state. */
it.each<[string, () => DurableObjectStub, () => Promise<unknown>]>([
  ["KeyManager.schedule", keys, async () => keys().schedule()],
  ["ControlPlane.publish", plane, async () => plane().publish("op")],
  ["SessionStore.read", sessions, async () => sessions().read("key-1")],
  ["SessionStore.use", sessions, async () => sessions().use("key-1", "app", undefined)],
  ["SessionStore.end of an unknown session", sessions, async () => sessions().end({ key: "unknown" }, "logout")],
  ["SessionStore.dismissClient", sessions, async () => sessions().dismissClient("sid-1", "app", "consent taken back")],
  ["SessionStore.acknowledgeRevoked", sessions, async () => sessions().acknowledgeRevoked("sid-1", undefined, [])],
  ["RefreshTokenRotator.inspect of an unknown family", families, async () => families().inspect("none")],
  ["RefreshTokenRotator.rotate", families, async () => families().rotate([])],
  ["AuthorizationCodeStore.spend of an expired code", codes, async () => codes().spend(expired)],
  ["AuthorizationCodeStore.takeBack of an unknown code", codes, async () => codes().takeBack(expired)],
])("ADR 15: %s responds after a write, which a superseded instance cannot make", async (_, stub, call) => {
  await sessions().open({ session });
  await call();
  const before = await passes(stub());
  await call();
  expect(await passes(stub())).toBeGreaterThan(before);
});

it("ADR 15: an invented session key costs no write", async () => {
  const before = await passes(sessions());
  expect(await sessions().read("made up")).toBe(undefined);
  expect(await passes(sessions())).toBe(before);
});
