import { createClientIsolate } from "@edge-op/shared/callers/endpoint-isolate";
import { AuthorizationCodes } from "@edge-op/shared/codes/authorization-codes";
import { DeviceCodes } from "@edge-op/shared/codes/device-codes";
import { isolateMemory } from "@edge-op/shared/config/limits";
import { RememberedDecisions } from "@edge-op/shared/control/remembered-decisions";
import { RefreshFamilies } from "@edge-op/shared/refresh/refresh-families";
import { IsolateCache } from "@edge-op/shared/runtime/isolate-cache";
import { VerifiedTokens } from "@edge-op/shared/tokens/verified-tokens";

/** **The memory of an isolate of op-token**, kept between requests. */
export function createIsolate() {
  const isolate = createClientIsolate();
  return {
    ...isolate,
    verifiedTokens: new VerifiedTokens(isolate.control),
    decisions: new RememberedDecisions(isolate.control),
    codes: new AuthorizationCodes(isolate.shardMap, isolate.challenges),
    deviceCodes: new DeviceCodes(isolate.shardMap),
    refreshFamilies: new RefreshFamilies(isolate.shardMap),
    clientResources: new ClientResources(),
  };
}

export type TokenIsolate = ReturnType<typeof createIsolate>;

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
