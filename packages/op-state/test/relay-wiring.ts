import { leaseTiming } from "@edge-op/shared/objects/lease-timing";
import type { RelayLeaseRequest, RelayLeaseResponse } from "@edge-op/shared/objects/revocation-relay";
import type { LeaseRequest } from "@edge-op/shared/objects/token-revocation-store";
import { RelayMachine } from "../src/relay/relay-machine.ts";

/** **The connections of shards, relays and isolates** in the simulation of relays; a mutant is a wiring with one error. */
export interface RelayWiring {
  bootRelay(instance: string): RelayMachine;
  /** What a holder, relay or isolate, takes for the moment at which its request was sent. */
  sentAt(sentAtMs: number, receivedAtMs: number, heldMs: number): number;
  /** The request of a relay to a shard. */
  upstream(request: LeaseRequest): LeaseRequest;
  /** The request of an isolate, as the relay takes it; `version` is the relay's newest. */
  downstream(request: RelayLeaseRequest, version: number): RelayLeaseRequest;
  /** The response of a relay to an isolate. */
  response(response: RelayLeaseResponse, request: RelayLeaseRequest): RelayLeaseResponse;
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
}

export const relayProtocol: RelayWiring = {
  bootRelay: (instance) => new RelayMachine(instance, leaseTiming),
  sentAt: (sentAtMs) => sentAtMs,
  upstream: (request) => request,
  downstream: (request) => request,
  response: (response) => response,
  waitsForIsolates: true,
  confirmsOnReceipt: false,
  confirmsOnSend: false,
  forgetsOnDisconnect: false,
  releasesWhenUnused: true,
  appliesControl: true,
  leavesClosedRelay: true,
  forgetsDiscarded: true,
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
  "leases beyond those of the relay": {
    ...relayProtocol,
    response: (response, { leaseMs }) => ({ ...response, leaseMs: response.leaseMs > 0 ? leaseMs : 0 }),
  },
  "a lease counted from receipt": { ...relayProtocol, sentAt: (_, receivedAtMs) => receivedAtMs },
  "held time counted twice": { ...relayProtocol, sentAt: (sentAtMs, _, heldMs) => sentAtMs + heldMs },
  "versions of an earlier run of the relay accepted": {
    ...relayProtocol,
    bootRelay: () => relayProtocol.bootRelay("relay"),
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
