import { leaseTiming, outlast } from "@edge-op/shared/objects/lease-timing";
import { type DurableState, RevocationMachine } from "../src/revocation/revocation-machine.ts";

/** **How machine, storage and replica are put together** in the simulation; a mutant is a wiring with one line wrong. */
export interface Wiring {
  /** Boots an instance from what is durable. */
  boot(durable: DurableState, bootAtMs: number): RevocationMachine;
  /** Whether a horizon is written before the machine extends it; `leaseMs` is 0 for a check. */
  writesHorizon(horizonsBefore: number, leaseMs: number): boolean;
  /** Whether a revocation that finds its row waits for the leases that may lack it. */
  readonly waitsWhenRepeated: boolean;
  /** When an isolate counts its lease from. */
  leaseFrom(sentAtMs: number, receivedAtMs: number): number;
}

export const protocol: Wiring = {
  boot: (durable, bootAtMs) => new RevocationMachine(leaseTiming, 1_000, durable, bootAtMs),
  writesHorizon: () => true,
  waitsWhenRepeated: true,
  leaseFrom: (sentAtMs) => sentAtMs,
};

export const mutants: Readonly<Record<string, Wiring>> = {
  "no boot fence": {
    ...protocol,
    boot: (durable, bootAtMs) => protocol.boot({ ...durable, horizon: undefined }, bootAtMs),
  },
  "a fence of L only": {
    ...protocol,
    boot: (durable, bootAtMs) => protocol.boot(durable, bootAtMs - outlast(leaseTiming, leaseTiming.horizonStepMs)),
  },
  "a lease counted from receipt": { ...protocol, leaseFrom: (_, receivedAtMs) => receivedAtMs },
  "a horizon extended in memory only": { ...protocol, writesHorizon: (horizonsBefore) => horizonsBefore === 0 },
  "checks answered on a horizon in memory only": { ...protocol, writesHorizon: (_, leaseMs) => leaseMs > 0 },
  "a repeated revocation acknowledged at once": { ...protocol, waitsWhenRepeated: false },
  "drift of clocks ignored": {
    ...protocol,
    boot: (durable, bootAtMs) =>
      new RevocationMachine({ ...leaseTiming, driftRate: 0, marginMs: 0 }, 1_000, durable, bootAtMs),
  },
  "a predecessor's horizon trusted as one's own": {
    ...protocol,
    boot: (durable, bootAtMs) => {
      const machine = protocol.boot(durable, bootAtMs);
      const { horizon } = durable;
      if (horizon !== undefined) machine.extend(horizon, horizon.horizonMs - outlast(leaseTiming, horizon.leaseMs));
      return machine;
    },
  },
};
