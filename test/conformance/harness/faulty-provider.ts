import {
  type LocalProvider,
  type LocalProviderOptions,
  startLocalProvider,
} from "../../../packages/local-provider/src/local-provider.ts";
import type { Fault } from "../../faults/faulty-objects.ts";

/** **A provider of one's own whose objects fail when told to.** Start it in `beforeAll`, stop it in `afterAll`. */
export interface FaultyProvider extends LocalProvider {
  /** What fails from now on; `[]`: nothing. */
  setFaults(faults: readonly Fault[]): Promise<void>;
  /** Calls of object methods so far, by `Class.method`. */
  objectCalls(): Promise<Readonly<Record<string, number>>>;
}

export async function startFaultyProvider(options: LocalProviderOptions = {}): Promise<FaultyProvider> {
  const provider = await startLocalProvider({
    ...options,
    entryPoints: { ...options.entryPoints, "op-state": "test/faults/faulty-objects.ts" },
  });
  const control = provider.direct["op-state"]!;
  return {
    ...provider,
    async setFaults(faults) {
      const response = await fetch(`${control}/faults`, { method: "PUT", body: JSON.stringify(faults) });
      if (response.status !== 204) throw new Error(`faults were not set: ${response.status} ${await response.text()}`);
    },
    async objectCalls() {
      const response = await fetch(`${control}/calls`);
      return (await response.json()) as Record<string, number>;
    },
  };
}
