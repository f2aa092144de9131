import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ControlView } from "@edge-op/shared/cache/control-view";
import type { SettingsVariables } from "@edge-op/shared/config/settings";
import { createRequestContext, type RequestContext } from "@edge-op/shared/http/request-context";
import { type KeyBindings, KeyRing } from "@edge-op/shared/keys/key-ring";
import { type KeyManagerRpc, keyManagerName } from "@edge-op/shared/objects/key-manager";
import { type KeySchedule, type ScheduledKey, signingKey } from "@edge-op/shared/objects/key-schedule";

/** **Isolates with a key ring, and requests in them**, against the real KeyManager, KV and D1. */
export type Env = KeyBindings & SettingsVariables;

export const bindings: Env = { ...(env as unknown as Env), SERVER_TIMING: "true" };
export const start = Date.parse("2026-11-21T00:00:00Z");
export const day = 86_400_000;
export const typ = ["at+jwt"];
export const claims = { iss: "https://op.example.com", sub: "alice" };

/** Runs work as one request, its background work included; says what it cost. */
export async function request<T>(work: (context: RequestContext<Env>) => Promise<T>, bindingsOf: Env = bindings) {
  const execution = createExecutionContext();
  const context = createRequestContext(new Request("https://op.example.com/token"), bindingsOf, execution);
  try {
    return { result: await work(context), counts: context.counts };
  } finally {
    await waitOnExecutionContext(execution);
  }
}

/** Bindings with a KeyManager that answers as it is told. */
export function withKeyManager(schedule: () => Promise<KeySchedule>): Env {
  const namespace = { idFromName: () => undefined, getByName: () => ({ schedule }) };
  return { ...bindings, KEY_MANAGER: namespace as unknown as DurableObjectNamespace<KeyManagerRpc> };
}

export const away = withKeyManager(() => Promise.reject(new Error("away")));

export const sign =
  (ring: KeyRing, content: object = claims) =>
  (context: RequestContext<Env>) =>
    ring.sign(context, { alg: "ES256", typ: "at+jwt", claims: { ...content } });
export const verify = (ring: KeyRing, token: string) => (context: RequestContext<Env>) =>
  ring.verify(context, token, { typ });

/** An isolate that knows the control version, as every one does that answers a caller. */
export async function isolate(cv = 1) {
  const control = new ControlView();
  const ring = new KeyRing(control);
  await request((context) => control.observe(context, cv));
  return { control, ring };
}

export async function recordChange(kind: string, id: string): Promise<number> {
  const row = await bindings.DB.prepare(
    "INSERT INTO control_changes (kind, id, at_ms) VALUES (?1, ?2, 0) RETURNING version",
  )
    .bind(kind, id)
    .first<{ version: number }>();
  return row!.version;
}

export async function keyOf(alg: "ES256" | "RS256" | "EdDSA"): Promise<ScheduledKey> {
  return signingKey(await bindings.KEY_MANAGER.getByName(keyManagerName).schedule(), alg, start)!;
}
