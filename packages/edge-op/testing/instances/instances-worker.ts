/**
 * **The compact Worker for many instances in one isolate**: the product's apps and objects, with bindings, isolate state, clock and faults for each
 * instance. Only tests run it; no deployable bundle contains it (test/topology/workers.test.ts).
 */

import { WorkerEntrypoint, env as workerEnv } from "cloudflare:workers";
import type { QueuedEvents } from "@edge-op/shared/audit/audit-event";
import { current, type StartedObject } from "./instance.ts";
import {
  environmentOf,
  findInstance,
  instanceAt,
  instanceOfSlot,
  type NewInstance,
  register,
  unregister,
} from "./instances.ts";
import { shareRsaKeys } from "./shared-rsa-keys.ts";

export * from "./instance-objects.ts";

shareRsaKeys();

interface Statement {
  readonly sql: string;
  readonly parameters?: readonly unknown[];
}

export type Order =
  | { readonly kind: "register"; readonly instance: NewInstance }
  | { readonly kind: "unregister"; readonly name: string }
  | {
      readonly kind: "execute";
      readonly slot: number;
      readonly database: string;
      readonly statements: readonly Statement[];
    }
  | { readonly kind: "clearCache"; readonly slot: number }
  | { readonly kind: "fail"; readonly name: string; readonly bindings: readonly string[] }
  | { readonly kind: "advance"; readonly name: string; readonly byMs: number };

interface ControlledObject extends Rpc.DurableObjectBranded {
  clockMoved(): Promise<void>;
  clear(): Promise<void>;
}

function objectOf({ binding, name }: StartedObject): DurableObjectStub<ControlledObject> {
  const bound = workerEnv as Readonly<Record<string, unknown>>;
  return (bound[binding] as DurableObjectNamespace<ControlledObject>).getByName(name);
}

/** The operations that the process that started this runtime requests. */
export class Control extends WorkerEntrypoint<Readonly<Record<string, unknown>>> {
  override async fetch(request: Request): Promise<Response> {
    return Response.json((await this.#follow(await request.json<Order>())) ?? null);
  }

  async #follow(order: Order): Promise<unknown> {
    switch (order.kind) {
      case "register":
        return register(order.instance);
      case "unregister":
        await Promise.all([...findInstance(order.name).objects.values()].map((object) => objectOf(object).clear()));
        return unregister(order.name);
      case "execute": {
        const database = this.env[`${order.database}_${order.slot}`] as D1Database;
        const prepared = order.statements.map(({ sql, parameters = [] }) => database.prepare(sql).bind(...parameters));
        return (await database.batch(prepared)).map(({ results }) => results);
      }
      case "clearCache": {
        const cache = this.env[`CACHE_${order.slot}`] as KVNamespace;
        const { keys } = await cache.list();
        await Promise.all(keys.map(({ name }) => cache.delete(name)));
        return undefined;
      }
      case "fail":
        findInstance(order.name).failing = new Set(order.bindings);
        return undefined;
      case "advance": {
        const instance = findInstance(order.name);
        instance.aheadMs += order.byMs;
        await Promise.all([...instance.objects.values()].map((object) => objectOf(object).clockMoved()));
        return instance.aheadMs;
      }
    }
  }
}

export default {
  fetch(request, _env, execution): Response | Promise<Response> {
    const found = instanceAt(request.url);
    if (found === undefined) return new Response("There is no provider at this port.", { status: 404 });
    return current.run(found.instance, () => found.worker.fetch(request, found.environment, execution));
  },
  queue(batch, _env, execution): Promise<void> {
    const found = instanceOfSlot(Number(batch.queue.split("-").at(-1)));
    // Drops events of an instance that has ended.
    if (found === undefined) return Promise.resolve();
    return current.run(found.instance, () => found.worker.queue(batch, environmentOf(found.instance), execution));
  },
} satisfies ExportedHandler<unknown, QueuedEvents>;
