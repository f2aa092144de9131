import { AsyncLocalStorage } from "node:async_hooks";

/**
 * **A provider for one file of tests**, beside others in one isolate. It has its own objects (by the prefix of their names), its own databases, cache
 * and queue (by its slot), its own isolate state, clock and faults. The code of the Workers is the product's.
 */
export interface Instance {
  readonly name: string;
  readonly slot: number;
  /** How far its clock is ahead of the machine's. */
  aheadMs: number;
  /** The bindings that fail. */
  failing: ReadonlySet<string>;
  /** The objects that it has started. */
  readonly objects: Map<string, StartedObject>;
}

export interface StartedObject {
  readonly binding: string;
  /** The full name, with the prefix. */
  readonly name: string;
  /** Measured by the instance's clock. */
  alarmAtMs: number | undefined;
}

/** The instance whose code is running: set at each entry, and kept over promises and timers. */
export const current = new AsyncLocalStorage<Instance>();

const separator = "|";

export function prefixed(instance: Instance, name: string): string {
  return `${instance.name}${separator}${name}`;
}

/** The name of the instance, and of its object. */
export function splitName(name: string): readonly [string, string] {
  const at = name.indexOf(separator);
  return [name.slice(0, at), name.slice(at + separator.length)];
}
