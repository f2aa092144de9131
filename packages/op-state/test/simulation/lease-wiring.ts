import { grantedFromMs, leaseTiming, outlast } from "@edge-op/shared/config/lease-timing";
import type { LeaseResponse } from "@edge-op/shared/leases/revocation-shard-rpc";
import { nextWaitMs, type PendingChange } from "../../src/revocation/lease-holders.ts";
import { type DurableState, RevocationMachine } from "../../src/revocation/revocation-machine.ts";
import type { NextWait } from "./simulated-world.ts";

/** Waits for the shortest of the missing leases alone: a mutant. */
export function untilFirstMs({ lacking }: PendingChange, reachedMs: number): number {
  return lacking.size === 0 ? 0 : Math.max(0, Math.min(...lacking.values()) - reachedMs);
}

/** Waits for nobody any more when one holder has confirmed: a mutant. */
export function untilOneConfirms(): NextWait {
  const begun = new WeakMap<PendingChange, number>();
  return (pending, reachedMs) => {
    const before = begun.get(pending) ?? pending.lacking.size;
    begun.set(pending, before);
    return pending.lacking.size < before ? 0 : Math.min(nextWaitMs(pending, reachedMs), 20);
  };
}

/** **The connections of machine, storage and replica** in the simulation; a mutant is a wiring with one error. */
export interface Wiring {
  /** Boots an instance from what is durable. */
  boot(durable: DurableState, bootAtMs: number): RevocationMachine;
  /** Whether a horizon is written before the machine extends it; `leaseMs` is 0 for a check. */
  writesHorizon(horizonsBefore: number, leaseMs: number): boolean;
  /** Whether a revocation that finds its row waits for the leases that may lack it. */
  readonly waitsWhenRepeated: boolean;
  /** Whether the boot fence is waited for when every holder has confirmed. */
  readonly waitsForFence: boolean;
  /** For how long an acknowledgement waits before it looks at what is lacking again. */
  readonly nextWaitMs: NextWait;
  /** What an isolate takes for the moment at which its request was sent. */
  sentAt(sentAtMs: number, receivedAtMs: number, heldMs: number): number;
  /** Whether an isolate confirms a response when it has received it, before it has installed it. */
  readonly confirmsOnReceipt: boolean;
  /** Whether the shard takes a response that it has sent for confirmed. */
  readonly confirmsOnSend: boolean;
  /** Whether the shard forgets a holder when a response to it cannot be delivered. */
  readonly forgetsOnDisconnect: boolean;
  /** Whether an isolate goes on under a new id after it has released its lease. */
  readonly renamesOnRelease: boolean;
  /** Whether an instance takes its horizon back. */
  mayClose(machine: RevocationMachine, atMs: number): boolean;
  /** Whether it goes on answering by the horizon that it took back. */
  readonly servesWhenClosed: boolean;
  /** What the shard sends of a response. */
  respond(response: LeaseResponse): LeaseResponse;
  /** Whether a filter gets the number at the end of its build, with the rows of its beginning. */
  readonly numbersFilterAtEnd: boolean;
  /** Whether a key that only the filter contains is checked exactly. */
  readonly checksHits: boolean;
}

export const protocol: Wiring = {
  boot: (durable, bootAtMs) => new RevocationMachine(leaseTiming, 1_000, durable, bootAtMs),
  writesHorizon: () => true,
  waitsWhenRepeated: true,
  waitsForFence: true,
  nextWaitMs,
  sentAt: (sentAtMs) => sentAtMs,
  confirmsOnReceipt: false,
  confirmsOnSend: false,
  forgetsOnDisconnect: false,
  renamesOnRelease: true,
  mayClose: (machine, atMs) => machine.mayClose(atMs),
  servesWhenClosed: false,
  respond: (response) => response,
  numbersFilterAtEnd: false,
  checksHits: true,
};

/** Four rows in memory, the others in storage and in the filter; snapshots that are paced. */
export const filterProtocol: Wiring = {
  ...protocol,
  boot: (durable, bootAtMs) =>
    new RevocationMachine(
      leaseTiming,
      4,
      durable.entries!.length > 4 ? { ...durable, entries: undefined, cutOffs: [] } : durable,
      bootAtMs,
      { exactRows: 1, snapshots: { bytesPerSecond: 2_000, bytesInFlight: 1_000, freeBytes: 100 } },
    ),
};

export const filterMutants: Readonly<Record<string, Wiring>> = {
  "a filter without the rows after it": {
    ...filterProtocol,
    respond: (response) => (response.kind === "lease" && response.filter ? { ...response, rows: [] } : response),
  },
  "a snapshot without its filter": {
    ...filterProtocol,
    respond: (response) => {
      if (response.kind !== "lease") return response;
      const { filter: _, ...rest } = response;
      return rest;
    },
  },
  "a filter that is older than its number": { ...filterProtocol, numbersFilterAtEnd: true },
  "a hit of the filter treated as a miss": { ...filterProtocol, checksHits: false },
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
  "a lease counted from receipt": { ...protocol, sentAt: (_, receivedAtMs) => receivedAtMs },
  "held time counted twice": { ...protocol, sentAt: (sentAtMs, _, heldMs) => sentAtMs + heldMs },
  "a response confirmed before it is installed": { ...protocol, confirmsOnReceipt: true },
  "a response taken for confirmed when it is sent": { ...protocol, confirmsOnSend: true },
  "a holder forgotten when its connection is lost": { ...protocol, forgetsOnDisconnect: true },
  "a released lease that goes on under the same id": { ...protocol, renamesOnRelease: false },
  "a horizon taken back while leases are out": { ...protocol, mayClose: () => true },
  "a horizon taken back before the boot fence has passed": {
    ...protocol,
    mayClose: (machine, atMs) => machine.mayClose(Number.POSITIVE_INFINITY) && machine.countLiveHolders(atMs) === 0,
  },
  "answers by a horizon that was taken back": { ...protocol, servesWhenClosed: true },
  "a boot fence that confirmations shorten": { ...protocol, waitsForFence: false },
  "a wait that ends with the first lease that lacks the change": { ...protocol, nextWaitMs: untilFirstMs },
  "a wait that ends when any holder has confirmed": { ...protocol, nextWaitMs: untilOneConfirms() },
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

/** Leases that end too late by less than a request takes: the simulation compares their ends. */
export const leaseEndMutants: Readonly<Record<string, Wiring>> = {
  "a lease counted from receipt": mutants["a lease counted from receipt"]!,
  "held time not discounted for drift": {
    ...protocol,
    sentAt: (sentAtMs, _, heldMs) => sentAtMs + heldMs - (grantedFromMs(leaseTiming, sentAtMs, heldMs) - sentAtMs),
  },
};
