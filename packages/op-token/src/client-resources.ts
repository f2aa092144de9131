import { isolateMemory } from "@edge-op/shared/config/limits";
import { IsolateCache } from "@edge-op/shared/runtime/isolate-cache";

/** The resources of a client that sends no request for this long are forgotten; its next request may cost a second object call. */
const keptMs = 3_600_000;

/** **The resources that clients used last**: a guess that saves a second object call (checked-targets.ts). */
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
