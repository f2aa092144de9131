import type { V4WorkerOptionsShape } from "miniflare";
import { stateScript } from "./workers.ts";

type DurableObjects = NonNullable<V4WorkerOptionsShape["durableObjects"]>;

/** **Binds a Worker that defines no class** to the classes of the Worker that does. */
export function boundElsewhere(durableObjects: DurableObjects): DurableObjects {
  const bound = Object.entries(durableObjects).map(([name, binding]) => {
    const object = typeof binding === "string" ? { className: binding } : binding;
    return [name, { ...object, scriptName: object.scriptName ?? stateScript }] as const;
  });
  return Object.fromEntries(bound);
}
