import { nextWaitMs } from "@edge-op/shared/leases/lease-holders";
import { leaseTiming } from "@edge-op/shared/objects/lease-timing";
import type { RelayLeaseRequest, RelayLeaseResponse } from "@edge-op/shared/objects/revocation-relay";
import type { LeaseRequest, LeaseResponse } from "@edge-op/shared/objects/token-revocation-store";
import { RelayReplica } from "@edge-op/shared/revocation/relay-replica";
import { RelayMachine } from "../../src/relay/relay-machine.ts";
import { untilFirstMs, untilOneConfirms } from "./lease-wiring.ts";
import { fewSnapshots, type Modes, shardNames } from "./simulated-shards.ts";
import type { NextWait } from "./simulated-world.ts";

/** **The connections of shards, relays and isolates** in the simulation of relays; a mutant is a wiring with one error. */
export interface RelayWiring {
  /** The modes of all runs, where a mutant shows in some alone. */
  readonly modes?: Partial<Modes>;
  bootRelay(instance: string, paced: boolean): RelayMachine;
  /** What an isolate installs the responses of its relay in. */
  replica(): RelayReplica;
  /** The response of a shard, to a relay or an isolate. */
  shardResponse(response: LeaseResponse, request: LeaseRequest): LeaseResponse;
  /** What a holder, relay or isolate, takes for the moment at which its request was sent. */
  sentAt(sentAtMs: number, receivedAtMs: number, heldMs: number): number;
  /** The request of a relay to a shard. */
  upstream(request: LeaseRequest): LeaseRequest;
  /** The request of an isolate, as the relay takes it; `version` is the relay's newest. */
  downstream(request: RelayLeaseRequest, version: number): RelayLeaseRequest;
  /** The response of a relay to an isolate. */
  response(response: RelayLeaseResponse, request: RelayLeaseRequest): RelayLeaseResponse;
  /** For how long a server waits before it looks at what is lacking again. */
  readonly nextWaitMs: NextWait;
  /** Whether the relay waits for its isolates before it confirms. */
  readonly waitsForIsolates: boolean;
  /** Whether an isolate confirms a response when it has received it, before it has installed it. */
  readonly confirmsOnReceipt: boolean;
  /** Whether a relay takes a response that it has sent for confirmed. */
  readonly confirmsOnSend: boolean;
  /** Whether a relay, or a shard, forgets a holder when a response to it cannot be delivered. */
  readonly forgetsOnDisconnect: boolean;
  /** Whether a relay releases its leases only when no isolate has one. */
  readonly releasesWhenUnused: boolean;
  /** Whether an isolate acts on the control version before it installs the response. */
  readonly appliesControl: boolean;
  /** Whether an isolate leaves its relay when a change of the generation table closes it. */
  readonly leavesClosedRelay: boolean;
  /** Whether a shard that an isolate has discarded is covered again by a snapshot alone. */
  readonly forgetsDiscarded: boolean;
  /** Whether a filter gets the number at the end of its build, with the rows of its beginning. */
  readonly numbersFilterAtEnd: boolean;
  /** Whether a key that only the filter contains is checked exactly. */
  readonly checksHits: boolean;
  /** By the clock of a shard: rows that expired until then are deleted. */
  deadBefore(atMs: number): number;
  /** Whether a request arrives with the end of its body, or with its first byte. */
  readonly arrivesWithBody: boolean;
  /** Whether a decision is made by `settle`, or stands whatever the version is afterwards. */
  readonly settles: boolean;
  /** Whether a request takes the isolate's control version for current. */
  readonly takesVersionForConfirmed: boolean;
  /** How clocks are set. */
  readonly clockStep: { readonly of: "isolate" | "relay" | "shard"; readonly byMs: number };
  /** Whether a holder that had to be paced requests a lease again. */
  readonly comesAgain: boolean;
  /** Whether a run of renewals waits for the renewal of the run before it. */
  readonly awaitsRenewal: boolean;
  /** Until when a relay holds a renewal that arrived then; `untilMs` is what its machine says. */
  holdUntilMs(untilMs: number, arrivedAtMs: number): number;
}

export const relayProtocol: RelayWiring = {
  bootRelay: (instance, paced) => new RelayMachine(instance, leaseTiming, paced ? { snapshots: fewSnapshots } : {}),
  replica: () => new RelayReplica(),
  shardResponse: (response) => response,
  sentAt: (sentAtMs) => sentAtMs,
  upstream: (request) => request,
  downstream: (request) => request,
  response: (response) => response,
  nextWaitMs,
  waitsForIsolates: true,
  confirmsOnReceipt: false,
  confirmsOnSend: false,
  forgetsOnDisconnect: false,
  releasesWhenUnused: true,
  appliesControl: true,
  leavesClosedRelay: true,
  forgetsDiscarded: true,
  numbersFilterAtEnd: false,
  checksHits: true,
  deadBefore: (atMs) => atMs - leaseTiming.clockOffsetMs,
  arrivesWithBody: true,
  settles: true,
  takesVersionForConfirmed: false,
  clockStep: { of: "isolate", byMs: 2_000 },
  comesAgain: true,
  awaitsRenewal: true,
  holdUntilMs: (untilMs) => untilMs,
};

/** Caught by a decision without a change that was acknowledged (I1), or by the use of a closed relay. */
export const relayMutants: Readonly<Record<string, RelayWiring>> = {
  "a response confirmed before it is installed": { ...relayProtocol, confirmsOnReceipt: true },
  "a response taken for confirmed when it is sent": { ...relayProtocol, confirmsOnSend: true },
  "a holder forgotten when its connection is lost": { ...relayProtocol, forgetsOnDisconnect: true },
  "a relay that confirms when it has installed": { ...relayProtocol, waitsForIsolates: false },
  "a relay whose renewals confirm what it has installed": {
    ...relayProtocol,
    upstream: (request) => ({ ...request, confirmedSeq: Math.max(request.sinceSeq, request.confirmedSeq) }),
  },
  "a wait that ends with the first lease that lacks the change": { ...relayProtocol, nextWaitMs: untilFirstMs },
  "a wait that ends when any holder has confirmed": { ...relayProtocol, nextWaitMs: untilOneConfirms() },
  "leases beyond those of the relay": {
    ...relayProtocol,
    response: (response, { leaseMs }) => ({ ...response, leaseMs: response.leaseMs > 0 ? leaseMs : 0 }),
  },
  "a lease counted from receipt": { ...relayProtocol, sentAt: (_, receivedAtMs) => receivedAtMs },
  "held time counted twice": { ...relayProtocol, sentAt: (sentAtMs, _, heldMs) => sentAtMs + heldMs },
  "versions of an earlier run of the relay accepted": {
    ...relayProtocol,
    bootRelay: (_, paced) => relayProtocol.bootRelay("relay", paced),
    downstream: (request, version) => ({ ...request, version: Math.min(request.version, version) }),
  },
  "a shard covered without a lease of the relay": {
    ...relayProtocol,
    response: (response, { leaseMs }) => ({
      ...response,
      leaseMs: response.leaseMs > 0 ? response.leaseMs : leaseMs,
      shards: response.shards.map((shard) => ({ ...shard, isCovered: true })),
    }),
  },
  "the leases of a relay released while isolates have theirs": { ...relayProtocol, releasesWhenUnused: false },
  "control changes that the relay does not send": {
    ...relayProtocol,
    response: (response, { sinceCv }) => ({ ...response, cv: sinceCv, changes: [] }),
  },
  "a response installed before its control changes are applied": { ...relayProtocol, appliesControl: false },
  "content that the relay does not send": {
    ...relayProtocol,
    response: (response) => ({
      ...response,
      shards: response.shards.map((shard) => ({ ...shard, content: shard.content.slice(0, 1) })),
    }),
  },
  "a relay that was closed is still used": { ...relayProtocol, leavesClosedRelay: false },
  "changes added to a replica that was discarded": { ...relayProtocol, forgetsDiscarded: false },
  "a filter without the rows after it": {
    ...relayProtocol,
    modes: { filters: true },
    shardResponse: (response) => (response.kind === "lease" && response.filter ? { ...response, rows: [] } : response),
  },
  "a filter that the relay does not send": {
    ...relayProtocol,
    modes: { filters: true },
    response: (response) => ({
      ...response,
      shards: response.shards.map((shard) => ({
        ...shard,
        content: shard.content.map(({ filter: _, ...content }) => content),
      })),
    }),
  },
  "a filter that is older than its number": { ...relayProtocol, modes: { filters: true }, numbersFilterAtEnd: true },
  "a hit of the filter treated as a miss": { ...relayProtocol, modes: { filters: true }, checksHits: false },
  "rows deleted when they expire by the clock of the shard": {
    ...relayProtocol,
    modes: { sweeps: true },
    deadBefore: (atMs) => atMs,
  },
  "a request that arrives with its first byte": { ...relayProtocol, arrivesWithBody: false },
  "a decision that stands whatever it rests on": { ...relayProtocol, settles: false },
  "a control version taken for confirmed": { ...relayProtocol, takesVersionForConfirmed: true },
  "a refusal of the shard taken for a renewal": {
    ...relayProtocol,
    shardResponse: (response, { sinceSeq, leaseMs, sinceCv }) =>
      response.kind === "lease" || sinceSeq < 0
        ? response
        : {
            kind: "lease",
            snapshot: false,
            seq: sinceSeq,
            rows: [],
            cutOffs: [],
            leaseMs,
            heldMs: 0,
            cv: sinceCv,
            changes: [],
          },
  },
  "a paced holder that takes itself for covered": {
    ...relayProtocol,
    modes: { paced: true },
    response: ({ againMs, ...response }, { leaseMs, sinceCv }) => {
      if (againMs === undefined) return response;
      const nothing = {
        kind: "lease",
        snapshot: true,
        seq: 0,
        rows: [],
        cutOffs: [],
        leaseMs,
        heldMs: 0,
        cv: -1,
      } as const;
      const content = [{ ...nothing, changes: undefined }];
      return {
        ...response,
        leaseMs,
        cv: sinceCv,
        shards: shardNames.map((name) => ({ name, content, isCovered: true })),
      };
    },
  },
};

/** Clocks outside of what is stated: the simulation must see what they break. */
export const clockMutants: Readonly<Record<string, RelayWiring>> = {
  "an isolate's clock set back": {
    ...relayProtocol,
    modes: { clocks: true },
    clockStep: { of: "isolate", byMs: -2_000 },
  },
  "a relay's clock set forward": { ...relayProtocol, modes: { clocks: true }, clockStep: { of: "relay", byMs: 2_000 } },
  "a relay's clock set back": { ...relayProtocol, modes: { clocks: true }, clockStep: { of: "relay", byMs: -2_000 } },
  "a shard's clock set forward": { ...relayProtocol, modes: { clocks: true }, clockStep: { of: "shard", byMs: 2_000 } },
};

/** Cold isolates at once, for whose snapshots the servers take seconds. */
export const coldStart = { faults: false, modes: { paced: true }, rows: 12 };

/** Nothing wrong is decided by these, and a holder remains without a lease (L1). */
export const waitingMutants: Readonly<Record<string, RelayWiring>> = {
  "a paced holder that never comes again": { ...relayProtocol, comesAgain: false },
};

/** Warm isolates without faults, while a change is announced every two seconds on average. */
export const steadyNews = { faults: false, modes: { paced: false, filters: false }, revokeMs: 2_000, requestMs: 60 };

/** Warm isolates without faults and without changes. */
export const quiet = { ...steadyNews, revokeMs: 1e9 };

/** Nothing wrong is decided by these either; isolates call their relay more often than is stated, or their leases end (C1). */
export const costlyMutants: Readonly<Record<string, RelayWiring>> = {
  "a run that does not wait for the renewal of the run before it": { ...relayProtocol, awaitsRenewal: false },
  "renewals held for half of a lease": {
    ...relayProtocol,
    holdUntilMs: (untilMs, arrivedAtMs) => Math.min(untilMs, arrivedAtMs + 500),
  },
  "renewals held for nine tenths of a lease": {
    ...relayProtocol,
    holdUntilMs: (untilMs, arrivedAtMs) => (untilMs > arrivedAtMs ? arrivedAtMs + 900 : untilMs),
  },
};

/** Leases that end too late by less than a request takes: the simulation compares their ends. */
export const relayLeaseEndMutants: Readonly<Record<string, RelayWiring>> = {
  "a lease counted from receipt": relayMutants["a lease counted from receipt"]!,
  "leases beyond those of the relay": relayMutants["leases beyond those of the relay"]!,
  "drift of clocks ignored by the relay": {
    ...relayProtocol,
    bootRelay: (instance) => new RelayMachine(instance, { ...leaseTiming, driftRate: 0, marginMs: 0 }),
  },
};
