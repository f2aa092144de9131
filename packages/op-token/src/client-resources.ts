import { isolateMemory } from "@edge-op/shared/config/limits";
import { IsolateCache } from "@edge-op/shared/runtime/isolate-cache";

/** A client that has not asked for so long is asked about by its object again. */
const keptMs = 3_600_000;

/** **The resources that clients used last**: the guess that saves a second object call (checked-targets.ts). */
export class ClientResources {
  readonly #resources = new IsolateCache<readonly string[]>({ maxBytes: isolateMemory.clientResources });

  get heldBytes(): number {
    return this.#resources.bytes;
  }

  get(clientId: string, atMs: number): readonly string[] {
    return this.#resources.get(clientId, atMs) ?? [];
  }

  remember(clientId: string, resources: readonly string[], atMs: number): void {
    this.#resources.set(clientId, resources, atMs + keptMs);
  }
}
