/**
 * **The cost of leases and the waits of confirmed writes, by the number of isolates.** Cloudflare decides the number of isolates, so it is an input;
 * every isolate of op-token, op-management, op-userinfo and op-auth counts. It is pure arithmetic without simulation; `load-tests/measure/` compares
 * it with a running system at small numbers.
 */

import { heldShare } from "../../packages/shared/src/config/lease-timing.ts";
import { leaseWork, platform } from "./platform.ts";

export interface LeaseFleet {
  /** Isolates of all four Workers together. */
  readonly isolates: number;
  /** Requests per second that one isolate decides by leases. */
  readonly requestsPerIsolate: number;
  readonly shards: number;
  /** The setting; longer under pressure, up to `longestLeaseMs` (see {@link grantedLeaseMs}). */
  readonly leaseMs: number;
  readonly longestLeaseMs: number;
  readonly regions: number;
  /** 0: isolates hold leases from the shards directly. */
  readonly relaysPerRegion: number;
  /** The share of a lease for which a relay holds renewals; by default that of the code. */
  readonly relayShare?: number;
  /** Confirmed writes per second that affect one shard: revocations, sign-outs. */
  readonly revocationsPerSecond: number;
  /** Administrative changes per second; every shard confirms each of them. */
  readonly changesPerSecond: number;
  /** Live rows in one shard. */
  readonly rowsPerShard: number;
}

export const defaultFleet: LeaseFleet = {
  isolates: 300,
  requestsPerIsolate: 30,
  shards: 8,
  leaseMs: 1000,
  longestLeaseMs: leaseWork.longestLeaseMs,
  regions: 3,
  relaysPerRegion: 0,
  revocationsPerSecond: 1,
  changesPerSecond: 0.05,
  rowsPerShard: 500,
};

/** A server whose holders would renew too often grants longer leases. */
export function grantedLeaseMs(
  holders: number,
  fleet: Pick<LeaseFleet, "leaseMs" | "longestLeaseMs">,
  share: number = heldShare.shard,
): number {
  const atLimit = (1000 * holders) / (share * leaseWork.renewalsPerSecond);
  return Math.max(fleet.leaseMs, Math.min(fleet.longestLeaseMs, atLimit));
}

/**
 * Renewals per second of one holder that keeps a lease: after `heldMs`, or when news arrives. News is sent to all holders at once, in at most
 * `wakesPerSecond` responses per server; rows written in the gap after news are sent at its end.
 */
function renewalRate(holders: number, heldMs: number, writesPerSecond: number): number {
  const held = heldMs / 1000;
  if (writesPerSecond < 1e-6) return 1 / held;
  const gap = Math.max(1 / leaseWork.mostWakesOfHolder, holders / leaseWork.wakesPerSecond);
  // The time from news to news is longer than t with the probability 1 in the gap, and exp(-writes × t) after it.
  const meanSeconds = gap + Math.exp(-writesPerSecond * gap) / writesPerSecond;
  const certain = Math.floor(gap / held);
  const perhaps = Math.exp(-writesPerSecond * (certain + 1) * held) / (1 - Math.exp(-writesPerSecond * held));
  return (1 + certain + perhaps) / meanSeconds;
}

interface HolderCalls {
  readonly perSecond: number;
  /** The share of time in which the holder has a lease. */
  readonly leased: number;
}

/** The other holders of a server's leases, the news that it sends, and the share of a lease for which it holds renewals. */
interface Server {
  readonly leaseMs: number;
  readonly holders?: number;
  readonly writesPerSecond?: number;
  readonly share?: number;
}

/**
 * Calls per second of one holder to one shard. A lease is requested if the shard decided about one of the holder's tokens within the last L; its
 * first renewal follows at once. A call checks requests in between.
 *
 * `decisionsPerSecond` are uses that decide about tokens; the others only keep the lease.
 */
export function callsOfHolder(usesPerSecond: number, server: Server, decisionsPerSecond = usesPerSecond): HolderCalls {
  const againWithinLease = 1 - Math.exp((-decisionsPerSecond * server.leaseMs) / 1000);
  const lapses = lapsesAfterUse(usesPerSecond, server);
  // After a use, the holder has a lease with this probability: it kept one or used the server within the last L.
  const holds = againWithinLease / (lapses + againWithinLease);
  const leased = holds * (1 - lapses);
  const checks = decisionsPerSecond * (1 - leased);
  const started = usesPerSecond * (1 - holds) * againWithinLease;
  const released = usesPerSecond * holds * lapses;
  return { perSecond: renewalsOf(leased, server) + checks + started + released, leased };
}

function renewalsOf(leased: number, { leaseMs, holders = 1, writesPerSecond = 0, share = heldShare.shard }: Server) {
  return leased * renewalRate(holders * leased, share * leaseMs, writesPerSecond);
}

/**
 * The probability that a lease has been released before the next use. Use is checked when a renewal returns, so a lease is released between L and L
 * plus the held time after the last use.
 */
function lapsesAfterUse(usesPerSecond: number, { leaseMs, share = heldShare.shard }: Server): number {
  return Math.exp((-usesPerSecond * leaseMs * (1 + share / 2)) / 1000);
}

/**
 * Calls per second of one isolate to its relay. Every request without a lease starts one in the background; a call to a shard checks the request
 * meanwhile.
 */
function callsBehindRelay(usesPerSecond: number, server: Server): HolderCalls & { readonly checksPerSecond: number } {
  const lapses = lapsesAfterUse(usesPerSecond, server);
  const leased = 1 - lapses;
  const lapsed = usesPerSecond * lapses;
  // Each lease begins with a call that is not held and ends with a release.
  return { perSecond: renewalsOf(leased, server) + 2 * lapsed, leased, checksPerSecond: lapsed };
}

/**
 * The calls of one isolate to the shards: to the shard whose lease confirms the control version of every request, so that any request keeps it, and
 * to each other shard, whose lease only requests about its own tokens keep.
 */
function callsOfIsolate(
  requestsPerSecond: number,
  shards: number,
  server: Server,
): { readonly control: HolderCalls; readonly other: HolderCalls } {
  const own = requestsPerSecond / shards;
  return { control: callsOfHolder(requestsPerSecond, server, own), other: callsOfHolder(own, server) };
}

/** The number of isolates that confirm the control version at the busiest shard: each isolate chooses a shard at random. */
function mostAtOneShard(isolates: number, shards: number): number {
  const mean = isolates / shards;
  return Math.min(isolates, mean + Math.sqrt(2 * mean * Math.log(shards)));
}

export interface LeaseLoad {
  /** Total object calls per second for leases. */
  readonly callsPerSecond: number;
  /** The same at the busiest shard, and at the busiest relay (0 without relays). */
  readonly busiestShard: number;
  readonly busiestRelay: number;
  /** The same of one warm isolate. */
  readonly callsPerIsolate: number;
  /** The length of the leases of isolates, which is the longest wait for a lost one. */
  readonly leaseMs: number;
  readonly relays: number;
  /** Isolates that hold a lease from one shard or one relay. */
  readonly holders: number;
  /** Objects that are awake because they hold a renewal, as a mean over time. */
  readonly awakeObjects: number;
}

export function leaseLoad(fleet: LeaseFleet): LeaseLoad {
  return fleet.relaysPerRegion === 0 ? directLoad(fleet) : relayedLoad(fleet);
}

function directLoad(fleet: LeaseFleet): LeaseLoad {
  const { isolates, shards } = fleet;
  const leaseMs = grantedLeaseMs(isolates, fleet);
  const writes = fleet.revocationsPerSecond / shards + fleet.changesPerSecond;
  const server = { leaseMs, holders: isolates, writesPerSecond: writes };
  const { control, other } = callsOfIsolate(fleet.requestsPerIsolate, shards, server);
  const callsPerIsolate = control.perSecond + (shards - 1) * other.perSecond;
  const leased = (control.leased + (shards - 1) * other.leased) / shards;
  const beyondOthers = Math.max(0, control.perSecond - other.perSecond);
  return {
    callsPerSecond: isolates * callsPerIsolate + shards * writes,
    busiestShard: isolates * other.perSecond + mostAtOneShard(isolates, shards) * beyondOthers + writes,
    busiestRelay: 0,
    callsPerIsolate,
    leaseMs,
    relays: 0,
    holders: isolates * leased,
    awakeObjects: shards * (1 - (1 - leased) ** isolates),
  };
}

function relayedLoad(fleet: LeaseFleet): LeaseLoad {
  const { isolates, shards, changesPerSecond, revocationsPerSecond } = fleet;
  const relays = fleet.regions * fleet.relaysPerRegion;
  const perRelay = isolates / relays;
  const share = fleet.relayShare ?? heldShare.relay;
  const leaseMs = grantedLeaseMs(perRelay, fleet, share);
  const server = { leaseMs, holders: perRelay, writesPerSecond: revocationsPerSecond + changesPerSecond, share };
  const holder = callsBehindRelay(fleet.requestsPerIsolate, server);
  const held = 1 - (1 - holder.leased) ** perRelay;
  const busiestRelay = perRelay * holder.perSecond;
  const writes = revocationsPerSecond / shards + changesPerSecond;
  const checks = (isolates * holder.checksPerSecond) / shards;
  // A relay renews after a quarter of a lease (ADR 22), receives news, and confirms by a separate call.
  const renewals = renewalRate(relays, heldShare.upstream * fleet.leaseMs, writes);
  const busiestShard = held * relays * (renewals + writes) + writes + checks;
  return {
    callsPerSecond: busiestRelay * relays + busiestShard * shards,
    busiestShard,
    busiestRelay,
    callsPerIsolate: holder.perSecond + holder.checksPerSecond,
    leaseMs,
    relays,
    holders: perRelay * holder.leased,
    awakeObjects: held * (relays + shards),
  };
}

/** The duration of one network leg, half of a round trip. */
export interface Legs {
  readonly caller: number;
  /** Between isolates and the holders of their leases: the shards, or the relays of their region. */
  readonly isolate: number;
  /** Between relays and shards. */
  readonly relay: number;
  readonly commit: number;
}

/** A region's own objects are 5 ms away; the farthest region is 75 ms away. */
export const worldwide = { near: 5, far: 75, commit: 10 } as const;

export function legsOf(fleet: Pick<LeaseFleet, "relaysPerRegion" | "regions">): Legs {
  const far = fleet.regions > 1 ? worldwide.far : worldwide.near;
  const isolate = fleet.relaysPerRegion === 0 ? far : worldwide.near;
  return { caller: worldwide.near, isolate, relay: far, commit: worldwide.commit };
}

export interface WriteWait {
  /** Every holder confirms. */
  readonly withoutFaultsMs: number;
  /** One isolate was ended, is frozen or is cut off. */
  readonly withLostIsolateMs: number;
}

/**
 * The wait of one confirmed write: commit, news to the holders, and their confirmations. Each server processes one confirmation at a time, and no
 * wait is longer than a lease.
 */
export function writeWait(fleet: LeaseFleet, legs: Legs = legsOf(fleet), confirmMs = leaseWork.confirmMs): WriteWait {
  const { relays, leaseMs, holders } = leaseLoad(fleet);
  const reached = 2 * legs.caller + legs.commit;
  const below = 2 * legs.isolate + confirmMs * holders;
  const above = relays === 0 ? 0 : 2 * legs.relay + confirmMs * relays;
  const untilLeasesEnd = reached + outlast(leaseMs);
  return {
    withoutFaultsMs: Math.min(reached + below + above, untilLeasesEnd),
    withLostIsolateMs: untilLeasesEnd,
  };
}

/** Both clocks may deviate by 2 %. */
function outlast(durationMs: number): number {
  return (durationMs * 1.02) / 0.98;
}

export interface Replica {
  /** The bytes that a cold isolate receives for all shards. */
  readonly snapshotBytes: number;
  /** The time until the last isolate has its replica, if all start at once. */
  readonly coldStartSeconds: number;
  /** Object calls per read that the filter cannot decide. */
  readonly callsPerRead: number;
  readonly isFilter: boolean;
}

/** Few rows are sent with their keys, more rows as a filter. Sending to cold isolates is paced; the others check exactly meanwhile. */
export function replicaOf(fleet: LeaseFleet): Replica {
  const isFilter = fleet.rowsPerShard > leaseWork.listedRows;
  const perShard = fleet.rowsPerShard * (isFilter ? leaseWork.filterBitsPerRow / 8 : leaseWork.bytesPerListedRow);
  const relays = fleet.regions * fleet.relaysPerRegion;
  // Directly, all shards serve every isolate at the same time; a relay serves its isolates for all shards.
  const served = relays === 0 ? fleet.isolates * perShard : (fleet.isolates / relays) * perShard * fleet.shards;
  const calls = relays === 0 ? fleet.isolates : fleet.isolates / relays;
  return {
    snapshotBytes: perShard * fleet.shards,
    coldStartSeconds: Math.max(served / leaseWork.snapshotBytesPerSecond, calls / platform.objectCallsPerSecond),
    callsPerRead: isFilter ? leaseWork.filterErrors : 0,
    isFilter,
  };
}

/** D1 queries per second caused by administrative changes and starting isolates, with and without changes that travel with leases. */
export function d1ReadsPerSecond(fleet: LeaseFleet, isolateLifeSeconds: number): { before: number; now: number } {
  const starts = (fleet.isolates / isolateLifeSeconds) * leaseWork.d1ReadsOfColdIsolate;
  const { changesPerSecond, isolates } = fleet;
  return {
    before: starts + changesPerSecond * isolates * leaseWork.d1ReadsPerChangeBefore,
    now: starts + changesPerSecond * isolates * leaseWork.d1ReadsPerChange,
  };
}
