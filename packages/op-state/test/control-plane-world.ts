import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type ControlPlaneRpc, controlPlaneName } from "@edge-op/shared/objects/control-plane";
import type { CutOff } from "@edge-op/shared/objects/token-revocation-store";
import { loadGenerations } from "@edge-op/shared/sharding/load-generations";
import { afterEach, beforeEach, vi } from "vitest";
import { TokenRevocationStore } from "../src/index.ts";

/** **The control plane among shards that note what they are told** and fail or stall as a test says. Time is the test's. */
const { CONTROL_PLANE, DB } = env as unknown as {
  CONTROL_PLANE: DurableObjectNamespace<ControlPlaneRpc>;
  DB: D1Database;
};
export const start = Date.parse("2030-01-01T00:00:00Z");

interface Told {
  cv: number;
  cutOffs: Map<string, CutOff>;
  calls: number;
  waits: boolean[];
}

export const world = {
  /** By object name. */
  shards: new Map<string, Told>(),
  refuse: (_name: string): boolean => false,
  hold: async (_name: string): Promise<void> => {},
  /** Milliseconds that the control plane waited before answers. */
  waited: [] as number[],
};

export function told(name: string): Told {
  const known = world.shards.get(name) ?? { cv: 0, cutOffs: new Map(), calls: 0, waits: [] };
  world.shards.set(name, known);
  return known;
}

async function raise(
  this: { readonly ctx: DurableObjectState },
  change: { readonly cutOffs?: readonly CutOff[]; readonly cv?: number },
  wait: boolean,
): Promise<{ cv: number }> {
  const name = this.ctx.id.name ?? "";
  if (world.refuse(name)) throw new Error(`${name} is down`);
  await world.hold(name);
  const shard = told(name);
  shard.calls += 1;
  shard.waits.push(wait);
  shard.cv = Math.max(shard.cv, change.cv ?? 0);
  for (const cutOff of change.cutOffs ?? []) {
    const known = shard.cutOffs.get(cutOff.key);
    if (known === undefined || known.notBeforeMs < cutOff.notBeforeMs) shard.cutOffs.set(cutOff.key, cutOff);
  }
  return { cv: shard.cv };
}

export const actualWait = scheduler.wait.bind(scheduler);

export function useControlPlaneWorld(): void {
  const actualRaise = Object.getOwnPropertyDescriptor(TokenRevocationStore.prototype, "raise");
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    Object.defineProperty(TokenRevocationStore.prototype, "raise", { configurable: true, value: raise });
    vi.spyOn(scheduler, "wait").mockImplementation(async (ms, options) => {
      // Time limits of calls, and the tick that a starting shard waits for, pass in real time.
      if (options !== undefined || ms <= 1) return actualWait(ms, options);
      world.waited.push(ms);
      vi.setSystemTime(Date.now() + ms);
    });
    vi.spyOn(console, "error").mockImplementation(() => {});
    resetWorld();
  });
  afterEach(() => {
    if (actualRaise !== undefined) Object.defineProperty(TokenRevocationStore.prototype, "raise", actualRaise);
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

export function resetWorld(): void {
  world.waited.length = 0;
  world.shards.clear();
  world.refuse = () => false;
  world.hold = async () => {};
}

/** A promise of the test's own: inspecting a stub's would call members of the answer. */
export async function settled<T>(call: () => Promise<T>): Promise<T> {
  return await call();
}

export const plane = () => CONTROL_PLANE.getByName(controlPlaneName);
export const ring = () => runDurableObjectAlarm(plane());

export async function commitChange(id: string): Promise<void> {
  await DB.prepare("INSERT INTO control_changes (kind, id, at_ms) VALUES ('client', ?1, ?2)")
    .bind(id, Date.now())
    .run();
}

export async function revocationGenerations() {
  const rows = (await loadGenerations(DB)) ?? [];
  return rows.filter(({ store }) => store === "revocation");
}
