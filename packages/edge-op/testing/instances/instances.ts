/** **The instances of this isolate**, each with its own Worker and bindings. */

import { env as workerEnv } from "cloudflare:workers";
import { createIsolate } from "@edge-op/op-compact/isolate";
import type { CompactEnv } from "@edge-op/op-compact/worker";
import { createWorker } from "@edge-op/op-compact/worker";
import type { HookName, HooksWorker } from "@edge-op/shared/hooks/call-hook";
import { bindings, compactBindings, nameOf } from "@edge-op/workers/workers";
import { guardDatabase, guardObjects, guardStore } from "./failing-stores.ts";
import { type Instance, prefixed } from "./instance.ts";

interface Registered {
  readonly instance: Instance;
  readonly environment: CompactEnv;
  readonly worker: ReturnType<typeof createWorker>;
}

const registered = new Map<string, Registered>();
const namesByPort = new Map<string, string>();
const namesBySlot = new Map<number, string>();
type Bound = Readonly<Record<string, unknown>>;

export interface NewInstance {
  readonly name: string;
  readonly slot: number;
  readonly port: number;
  /** Settings and secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** The origin of the hooks of the test process. */
  readonly hooks?: string | undefined;
}

export function register({ name, slot, port, variables, hooks }: NewInstance): void {
  const instance: Instance = { name, slot, aheadMs: 0, failing: new Set(), objects: new Map() };
  const environment: object = { ...variables, ...bindingsOf(instance, hooks) };
  registered.set(name, { instance, environment: environment as CompactEnv, worker: createWorker(createIsolate()) });
  namesByPort.set(String(port), name);
  namesBySlot.set(slot, name);
}

export function unregister(name: string): void {
  registered.delete(name);
  for (const names of [namesByPort, namesBySlot]) {
    for (const [key, value] of names as Map<unknown, string>)
      if (value === name) (names as Map<unknown, string>).delete(key);
  }
}

function bindingsOf(instance: Instance, hooks: string | undefined): Bound {
  const bound = workerEnv as Bound;
  const entries = compactBindings().flatMap((binding): [string, unknown][] => {
    const name = nameOf(binding);
    const isFailing = () => instance.failing.has(name);
    const ofSlot = bound[`${name}_${instance.slot}`];
    switch (bindings[binding].kind) {
      case "d1":
        return [[name, guardDatabase(ofSlot as D1Database, isFailing)]];
      case "kv":
      case "queue":
        return [[name, guardStore(ofSlot as object, isFailing)]];
      case "object":
        return [
          [
            name,
            guardObjects(bound[name] as DurableObjectNamespace, (object) => prefixed(instance, object), isFailing),
          ],
        ];
      case "rateLimit":
        return [[name, limitOf(instance, bound[name] as RateLimit)]];
      case "operated":
        return hooks === undefined ? [] : [[name, hooksOfTest(hooks)]];
      default:
        // Unused: data points and the export of the audit log.
        return [];
    }
  });
  return Object.fromEntries(entries);
}

/** Counts separately for each instance. */
function limitOf(instance: Instance, limit: RateLimit): RateLimit {
  return { limit: (options) => limit.limit({ ...options, key: prefixed(instance, options.key) }) };
}

export function findInstance(name: string): Instance {
  return find(name).instance;
}

export function environmentOf({ name }: Instance): CompactEnv {
  return find(name).environment;
}

function find(name: string | undefined): Registered {
  const found = registered.get(name ?? "");
  if (found === undefined) throw new Error(`there is no instance ${name}`);
  return found;
}

/** The instance whose port a request was sent to. */
export function instanceAt(url: string): Registered | undefined {
  return registered.get(namesByPort.get(new URL(url).port) ?? "");
}

export function instanceOfSlot(slot: number): Registered | undefined {
  return registered.get(namesBySlot.get(slot) ?? "");
}

/** **The hooks of a test process** (src/serve-hooks.ts), in place of a Service Binding. */
export function hooksOfTest(origin: string): HooksWorker {
  const call = (name: HookName) => async (request: unknown) => {
    const response = await fetch(`${origin}/${name}`, { method: "POST", body: JSON.stringify(request) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json<{ readonly value?: unknown }>()).value;
  };
  return {
    claims: call("claims"),
    beforeSignIn: call("beforeSignIn"),
    afterSignUp: call("afterSignUp"),
    mail: call("mail"),
    legacyPassword: call("legacyPassword"),
  };
}
