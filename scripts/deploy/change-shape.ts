/**
 * **The steps of a change of the shape besides uploads** (ADR 32): the queue's consumer, of which there can be only one, and the Workers that only
 * the other shape has. No object and no row moves.
 */

import { record } from "./record-choices.ts";
import type { DeployStep } from "./run-steps.ts";
import { query, type Session } from "./session.ts";
import { deployedWorkerName, scriptsOf } from "./shape.ts";

export function releaseQueuesStep({ api, account, environment, inventory, names }: Session): DeployStep {
  return {
    title: "Queue consumers of the other shape",
    async run() {
      const released: string[] = [];
      for (const [queue, script] of Object.entries(names.consumers)) {
        const found = inventory.queues.get(queue);
        if (found === undefined) continue;
        const path = `/accounts/${account}/queues/${found.id}/consumers`;
        const consumers = await api.get<{ consumer_id: string; script?: string; script_name?: string }[]>(path);
        for (const { consumer_id, script: scriptName, script_name = scriptName } of consumers) {
          if (script_name === script || !scriptsOf(environment).has(script_name ?? "")) continue;
          await api.send("DELETE", `${path}/${consumer_id}`);
          released.push(`${queue}: ${script_name}; events wait in the queue for ${script}`);
        }
      }
      return released;
    },
  };
}

/** Deletes routes first, so that requests reach the Worker that has the host. */
export function deleteOtherShapeStep({ api, account, environment, inventory }: Session): DeployStep {
  return {
    title: "Workers of the other shape",
    async run() {
      // The front door binds the other Workers.
      const scripts = inventory.otherShape.map((name) => deployedWorkerName(environment.prefix, name)).reverse();
      const { zone } = inventory.address;
      if (zone !== undefined) {
        const path = `/zones/${zone.id}/workers/routes`;
        const routes = await api.get<{ id: string; script?: string }[]>(path);
        for (const { id, script } of routes) {
          if (script !== undefined && scripts.includes(script)) await api.send("DELETE", `${path}/${id}`);
        }
      }
      for (const script of scripts)
        await api.send("DELETE", `/accounts/${account}/workers/scripts/${script}?force=true`);
      return scripts.map((script) => `deleted ${script}`);
    },
  };
}

/** The next deployment compares its shape with this record. */
export function recordShapeStep(session: Session, database: () => string): DeployStep {
  return {
    title: "Shape",
    async run() {
      const { shape } = session.environment;
      await query(session, database(), record("shape", shape, Date.now()));
      return [shape];
    },
  };
}
