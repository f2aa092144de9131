import { AnnouncedLog } from "../../packages/op-state/src/changes/announced-log.ts";
import { RecordCopies } from "../../packages/op-state/src/changes/record-copies.ts";
import { KeyRows } from "../../packages/op-state/src/keys/key-rows.ts";
import { HeldCalls } from "../../packages/op-state/src/leases/held-calls.ts";
import {
  ConfirmationWaits,
  LeaseHolders,
  type PendingChange,
} from "../../packages/op-state/src/leases/lease-holders.ts";
import { RelayMachine } from "../../packages/op-state/src/relay/relay-machine.ts";
import { UpstreamShard } from "../../packages/op-state/src/relay/upstream-shard.ts";
import { GrantRevocations } from "../../packages/op-state/src/revocation/grant-revocations.ts";
import { RevocationMachine } from "../../packages/op-state/src/revocation/revocation-machine.ts";
import { RevocationRows } from "../../packages/op-state/src/revocation/revocation-rows.ts";
import { TokenRevocationStore } from "../../packages/op-state/src/revocation/token-revocation-store.ts";
import { UnavailableError } from "../../packages/protocol/src/oauth/errors.ts";
import { KnownCredentials } from "../../packages/shared/src/callers/client-secret.ts";
import { leaseTiming, outlast } from "../../packages/shared/src/config/lease-timing.ts";
import { limits } from "../../packages/shared/src/config/limits.ts";
import { ControlView } from "../../packages/shared/src/control/control-view.ts";
import { ReadSet } from "../../packages/shared/src/control/read-set.ts";
import { RelayReplica } from "../../packages/shared/src/leases/relay-replica.ts";
import { RenewalRuns } from "../../packages/shared/src/leases/renewal-runs.ts";
import { RevocationView } from "../../packages/shared/src/leases/revocation-view.ts";
import { ShardReplica } from "../../packages/shared/src/leases/shard-replica.ts";
import { Sessions } from "../../packages/shared/src/sessions/sessions.ts";
import { CallLine } from "../../packages/shared/src/storage/call-line.ts";
import type { ForgetRecord, NamedChange } from "../../packages/shared/src/storage/record-kinds.ts";
import { ShardMap } from "../../packages/shared/src/storage/shard-map.ts";
import { around, type Restore, replaceValue, restoreAll } from "./replace-method.ts";
import { SimulatedIsolate } from "./simulated-isolate.ts";
import { SimulatedWorld } from "./simulated-world.ts";
import type { Circumstances } from "./simulation.ts";

/** **One method of the product, replaced with a faulty one**, and the circumstances in which the fault shows soonest. */
export interface Mutant {
  apply(): Restore;
  readonly in?: Circumstances;
  /** The seed of a run that has shown a mutant which shows rarely. */
  readonly from?: number;
}

const direct = { relays: 0 } as const;
const relayed = { relays: 2 } as const;
const filters = { modes: { filters: true } } as const;
const manyChanges = { changeMs: 250, requestMs: 50 } as const;
/** Rows expire while decisions are delayed. Each of the mutants of it shows in run 4 or 5. */
export const slowDecisions = { modes: { sweeps: true }, frequent: ["frozen"], requestMs: 60, revokeMs: 400 } as const;
/** Isolates sign, also with algorithms that have no key yet. */
export const signing = { signs: true } as const;
const steady = { modes: { clocks: false } } as const;

function leaseResponse(
  change: (
    response: ReturnType<RevocationMachine["lease"]>,
    request: Parameters<RevocationMachine["lease"]>[0],
  ) => ReturnType<RevocationMachine["lease"]>,
): Restore {
  return around(RevocationMachine, "lease", (_self, lease, request, heldMs, nowMs) => {
    return change(lease(request, heldMs, nowMs), request);
  });
}

function relayResponse(
  change: (
    response: ReturnType<RelayMachine["lease"]>,
    request: Parameters<RelayMachine["lease"]>[0],
  ) => ReturnType<RelayMachine["lease"]>,
): Restore {
  return around(RelayMachine, "lease", (_self, lease, request, heldMs, nowMs) => {
    return change(lease(request, heldMs, nowMs), request);
  });
}

/** The moment at which a holder assumes that its request was sent. */
type SentAt = (sentAtMs: number, heldMs: number) => number;

const directLease = (sentAt: SentAt) =>
  around(ShardReplica, "install", (_self, install, lease, request, sentAtMs) => {
    install(lease, request, sentAt(sentAtMs, lease.heldMs));
  });
const relaysLease = (sentAt: SentAt) =>
  around(RelayReplica, "install", (_self, install, response, request, sentAtMs, replicaOf) => {
    install(response, request, sentAt(sentAtMs, response.heldMs), replicaOf);
  });
const relaysOwnLease = (sentAt: SentAt) =>
  around(UpstreamShard, "install", (_self, install, response, request, sentAtMs, version) => {
    return install(response, request, sentAt(sentAtMs, response.heldMs), version);
  });

const fromReceipt: SentAt = () => Date.now();
const heldTwice: SentAt = (sentAtMs, heldMs) => sentAtMs + heldMs;
const heldLonger: SentAt = (sentAtMs, heldMs) => sentAtMs + 0.1 * heldMs;
/** Without (1 − ρ) / (1 + ρ). */
const heldUndiscounted: SentAt = (sentAtMs, heldMs) => sentAtMs + 2 * leaseTiming.driftRate * heldMs;

/** The first holder of a lease that the same replica would continue to hold. */
const firstHolders = new WeakMap<object, string>();

export const mutants: Readonly<Record<string, Mutant>> = {
  "no boot fence": {
    apply: () =>
      around(RevocationRows, "load", (_self, load, max) => {
        return { ...load(max), horizon: undefined };
      }),
    in: { frequent: ["shardRestarts"] },
    from: 8,
  },
  "a fence of L only": {
    apply: () =>
      around(RevocationMachine, "startWait", (_self, startWait, nowMs) => {
        const wait = startWait(nowMs);
        return { ...wait, fenceMs: Math.max(0, wait.fenceMs - outlast(leaseTiming, leaseTiming.horizonStepMs)) };
      }),
    in: { frequent: ["shardRestarts"] },
    from: 31,
  },
  "a boot fence that is skipped while a lease wait runs": {
    apply: () =>
      around(RevocationMachine, "startWait", (_self, startWait, nowMs) => {
        const wait = startWait(nowMs);
        return wait.leasesMs > 0 ? { ...wait, fenceMs: 0 } : wait;
      }),
    in: { frequent: ["shardRestarts"] },
    from: 8,
  },
  "a boot clock that is not refreshed": {
    // The horizon is missing when the instance checks whether to wait for its clock, and present when it counts from it.
    apply: () =>
      around(RevocationRows, "load", (_self, load, max) => {
        const durable = load(max);
        let looks = 0;
        return Object.defineProperty({ ...durable }, "horizon", {
          get: () => (++looks === 1 ? undefined : durable.horizon),
        });
      }),
    in: { frequent: ["shardRestarts"] },
    from: 35,
  },
  "a direct lease counted from receipt": { apply: () => directLease(fromReceipt), in: direct },
  "a relay's lease counted from receipt at the isolate": { apply: () => relaysLease(fromReceipt), in: relayed },
  "a relay's own lease counted from receipt": { apply: () => relaysOwnLease(fromReceipt), in: relayed },
  "held time counted twice by an isolate": { apply: () => directLease(heldTwice), in: direct },
  "held time counted twice of a relay's lease": { apply: () => relaysLease(heldTwice), in: relayed },
  "held time not discounted for drift": { apply: () => directLease(heldUndiscounted), in: { ...direct, ...steady } },
  "held time × 1.1 by an isolate": { apply: () => directLease(heldLonger), in: { ...direct, ...steady } },
  "held time × 1.1 of a relay's lease": { apply: () => relaysLease(heldLonger), in: { ...relayed, ...steady } },
  "held time × 1.1 by a relay": { apply: () => relaysOwnLease(heldLonger), in: { ...relayed, ...steady } },
  "a lease that is released and still used": {
    apply: () =>
      around(ShardReplica, "lapse", (self, _) => {
        return self.holder;
      }),
    in: { ...direct, frequent: ["idle", "killed"] },
    from: 5,
  },
  "a relay's lease that is released and still used": {
    apply: () =>
      around(RelayReplica, "lapse", (self, _) => {
        return self.request(0, undefined, false).holder;
      }),
    in: { ...relayed, frequent: ["idle", "killed"] },
    from: 149,
  },
  "a response to a released lease that is installed": {
    apply: () =>
      around(ShardReplica, "install", (self, install, lease, request, sentAtMs) => {
        install(lease, { ...request, holder: self.holder }, sentAtMs);
      }),
    in: { ...direct, modes: { tight: true } },
    from: 7,
  },
  "a response confirmed before it is installed": {
    apply: () =>
      around(ShardReplica, "add", (_self, add, lease) => {
        add({ ...lease, rows: [], cutOffs: [] });
        setTimeout(() => add(lease), 100);
      }),
  },
  "a response taken for confirmed when it is sent": {
    apply: () =>
      around(LeaseHolders, "give", (self, give, holder, seq, endMs) => {
        give(holder, seq, endMs);
        self.confirm(holder, seq);
      }),
  },
  "a horizon taken back while leases are out": {
    apply: () => around(RevocationMachine, "mayClose", () => true),
    in: { frequent: ["shardRestarts"] },
    from: 28,
  },
  "a horizon taken back before the boot fence has passed": {
    apply: () =>
      around(RevocationMachine, "mayClose", (self, mayClose, nowMs) => {
        return mayClose(Number.POSITIVE_INFINITY) && self.countLiveHolders(nowMs) === 0;
      }),
    in: { ...direct, leaseMs: 8_000, modes: { tight: true }, frequent: ["shardRestarts"] },
    from: 9,
  },
  "answers by a horizon that was taken back": {
    apply: () => around(RevocationMachine, "close", () => {}),
    in: { ...direct, frequent: ["shardRestarts", "idle"], requestMs: 600 },
    from: 24,
  },
  "a wait that ends with the first lease that lacks the change": {
    apply: () =>
      around(ConfirmationWaits, "wait", (_self, _wait, { lacking }, startedAtMs) =>
        scheduler.wait(Math.max(0, Math.min(...lacking.values()) - startedAtMs)),
      ),
    from: 8,
  },
  "a wait that ends when any holder has confirmed": { apply: endWaitsWithFirst },
  "a horizon extended in memory only": {
    apply: () =>
      around(RevocationRows, "writeHorizon", (self, write, horizon) => {
        if (firstHolders.has(self) && horizon !== undefined) return;
        firstHolders.set(self, "");
        write(horizon);
      }),
    in: { frequent: ["shardRestarts"] },
    from: 8,
  },
  "checks answered on a horizon in memory only": {
    apply: () =>
      around(RevocationRows, "writeHorizon", (_self, write, horizon) => {
        if (horizon?.leaseMs !== 0) write(horizon);
      }),
    in: { frequent: ["shardRestarts"], requestMs: 1_500 },
    from: 104,
  },
  "a repeated revocation acknowledged at once": {
    apply: () => {
      const repeated = new WeakSet<RevocationMachine>();
      return restoreAll([
        around(RevocationMachine, "plan", (self, plan, change, find) => {
          const planned = plan(change, find);
          if (planned.seq === self.seq) repeated.add(self);
          return planned;
        }),
        around(RevocationMachine, "startWait", (self, startWait, nowMs) => {
          const wait = startWait(nowMs);
          return repeated.delete(self) ? { ...wait, leasesMs: 0, fenceMs: 0 } : wait;
        }),
      ]);
    },
    in: { frequent: ["partitions"] },
    from: 4,
  },
  "drift of clocks ignored": {
    apply: () => {
      const { driftRate, marginMs } = leaseTiming;
      Object.assign(leaseTiming, { driftRate: 0, marginMs: 0 });
      return () => void Object.assign(leaseTiming, { driftRate, marginMs });
    },
    in: steady,
    from: 7,
  },
  "a filter without the rows after it": {
    apply: () =>
      leaseResponse((response) =>
        response.kind === "lease" && response.filter ? { ...response, rows: [] } : response,
      ),
    in: filters,
  },
  "a snapshot without its filter": {
    apply: () =>
      leaseResponse((response) => {
        if (response.kind !== "lease") return response;
        const { filter: _, ...rest } = response;
        return rest;
      }),
    in: filters,
  },
  "a filter that is older than its number": {
    apply: () =>
      around(RevocationMachine, "useFilter", (self, use, filter, rows) => {
        use({ ...filter, seq: self.seq }, rows);
      }),
    in: filters,
    from: 318,
  },
  "a hit of the filter treated as a miss": {
    apply: () => around(ShardReplica, "needsCheck", () => false),
    in: filters,
  },
  "a relay that confirms when it has installed": {
    apply: () =>
      around(RelayMachine, "startWait", (_self, startWait, nowMs) => {
        const wait = startWait(nowMs);
        return wait && { ...wait, leasesMs: 0 };
      }),
    in: relayed,
  },
  "a relay whose renewals confirm what it has installed": {
    apply: () =>
      around(UpstreamShard, "request", (_self, request, leaseMs, sinceCv) => {
        const made = request(leaseMs, sinceCv);
        return { ...made, confirmedSeq: Math.max(made.sinceSeq, made.confirmedSeq) };
      }),
    in: relayed,
    from: 10,
  },
  "leases beyond those of the relay": {
    apply: () =>
      relayResponse((response, { leaseMs }) => ({ ...response, leaseMs: response.leaseMs > 0 ? leaseMs : 0 })),
    in: relayed,
  },
  "versions of an earlier run of the relay accepted": {
    apply: () => {
      const runs = new WeakMap<RelayReplica, string>();
      return restoreAll([
        around(RelayReplica, "install", (self, install, response, request, sentAtMs, replicaOf) => {
          runs.set(self, response.instance);
          install(
            { ...response, instance: "relay" },
            { ...request, instance: request.instance && "relay" },
            sentAtMs,
            replicaOf,
          );
        }),
        around(RelayReplica, "request", (self, request, leaseMs, cv, hold) => {
          const made = request(leaseMs, cv, hold);
          return { ...made, instance: runs.get(self) };
        }),
      ]);
    },
    in: { ...relayed, frequent: ["relayRestarts"] },
    from: 25,
  },
  "a shard covered without a lease of the relay": {
    apply: () =>
      relayResponse((response, { leaseMs }) => ({
        ...response,
        leaseMs: response.leaseMs > 0 ? response.leaseMs : leaseMs,
        shards: response.shards.map((shard) => ({ ...shard, isCovered: true })),
      })),
    in: relayed,
  },
  "control changes that the relay does not send": {
    apply: () => relayResponse((response, { sinceCv }) => ({ ...response, cv: sinceCv, changes: [] })),
    in: relayed,
    from: 23,
  },
  "a response installed before its control changes are applied": {
    apply: () =>
      around(ControlView, "observe", (self, observe, context, cv, named) => {
        if (self.version === undefined) return observe(context, cv, named);
        setTimeout(() => void observe(context, cv, named).catch(() => {}), 200);
        return Promise.resolve();
      }),
    from: 15,
  },
  "content that the relay does not send": {
    apply: () =>
      relayResponse((response) => ({
        ...response,
        shards: response.shards.map((shard) => ({ ...shard, content: shard.content.slice(0, 1) })),
      })),
    in: relayed,
  },
  "a relay that was closed is still used": {
    apply: () =>
      around(ShardMap, "placeRelay", async (self, place, context, key) => {
        const known = relayPlaces.get(self) ?? (await place(context, key));
        if (known !== undefined) relayPlaces.set(self, known);
        return known;
      }),
    in: { ...relayed, frequent: ["closings"] },
    from: 13,
  },
  "changes added to a replica that was discarded": {
    apply: () => around(RelayReplica, "forget", () => {}),
    in: { ...relayed, modes: { tight: true } },
  },
  "a filter that the relay does not send": {
    apply: () =>
      relayResponse((response) => ({
        ...response,
        shards: response.shards.map((shard) => ({
          ...shard,
          content: shard.content.map(({ filter: _, ...content }) => content),
        })),
      })),
    in: { ...relayed, ...filters },
    from: 7,
  },
  "rows deleted when they expire by the clock of the shard": {
    apply: () =>
      around(RevocationRows, "sweep", (_self, sweep, deadBeforeMs, limit) => {
        return sweep(deadBeforeMs + leaseTiming.clockOffsetMs, limit);
      }),
    in: { modes: { sweeps: true } },
  },
  "rows that end with their tokens": {
    apply: () =>
      around(TokenRevocationStore, "revoke", (_self, revoke, requests, wait, sinceCv) => {
        const ended = requests.map((request) => ({ ...request, untilMs: request.untilMs - limits.decisionMs }));
        return revoke(ended, wait, sinceCv);
      }),
    in: slowDecisions,
    from: 94,
  },
  "a token taken for unrevoked when its row may be deleted": {
    apply: () =>
      around(RevocationView, "isRevoked", async (_self, isRevoked, context, subjects) => {
        try {
          return await isRevoked(context, subjects);
        } catch (error) {
          if (error instanceof UnavailableError && String(error.cause).includes("not decided")) return false;
          throw error;
        }
      }),
    in: slowDecisions,
    from: 70,
  },
  "a copy that an isolate without a version takes for current": {
    apply: () =>
      around(ReadSet, "note", (_self, note, kind, id, stamp) => {
        note(kind, id, stamp === undefined ? undefined : Number.MAX_SAFE_INTEGER);
      }),
    in: { frequent: ["killed"] },
  },
  "a record that its change carries as it was before": {
    apply: () =>
      around(AnnouncedLog, "record", (_self, record, newest, { changes, cutOffs }, nowMs) => {
        record(newest, { changes: changes.map(carryEarlier), cutOffs }, nowMs);
      }),
    in: manyChanges,
  },
  "a relay that passes an earlier record with a change": {
    apply: () => relayResponse((response) => ({ ...response, changes: response.changes?.map(carryEarlier) })),
    in: { ...relayed, ...manyChanges },
  },
  "a record installed after a later change that names it": {
    apply: () => {
      const replace = new WeakMap<ControlView, Map<string, ForgetRecord[]>>();
      return restoreAll([
        around(ControlView, "onChange", (self, onChange, kind, forget) => {
          const caches = replace.get(self) ?? new Map<string, ForgetRecord[]>();
          replace.set(self, caches.set(kind, [...(caches.get(kind) ?? []), forget]));
          onChange(kind, forget);
        }),
        around(ControlView, "observe", async (self, observe, context, cv, named = []) => {
          await observe(context, cv, named);
          for (const { kind, id, record } of named) {
            const late = record && { ...record, cv: Number.MAX_SAFE_INTEGER };
            for (const each of replace.get(self)?.get(kind) ?? [])
              if (late !== undefined) setTimeout(() => each(id, late), 300);
          }
        }),
      ]);
    },
    in: manyChanges,
  },
  "a copy in KV with a later version than its record": {
    apply: () => around(RecordCopies, "write", (_self, write, records, cv) => write(records, cv + 3)),
    in: { ...manyChanges, frequent: ["killed"] },
    from: 5,
  },
  "a decision whose reads are not of one version": {
    apply: () => around(ReadSet, "note", () => {}),
    in: manyChanges,
  },
  "remembered credentials that are not noted as a read": {
    apply: () =>
      around(KnownCredentials, "find", (_self, find, context, header, form) => {
        const { progress } = context;
        const { reads } = progress;
        progress.reads = reads && Object.create(reads, { note: { value: () => {} } });
        const client = find(context, header, form);
        progress.reads = reads;
        return client;
      }),
    in: manyChanges,
    from: 2,
  },
  "a control version taken for confirmed": {
    apply: () => around(RevocationView, "isControlConfirmed", () => true),
    from: 216,
  },
  "a copy taken for current": {
    apply: () => around(ControlView, "isCurrent", () => true),
  },
  "a check from before the arrival": {
    apply: () =>
      around(CallLine, "depart", (_self, depart, call) => {
        const waiters = depart(call);
        call.isSent = false;
        return waiters && [...waiters];
      }),
    in: { requestMs: 40 },
  },
  "a refusal of the shard taken for a renewal": {
    apply: () =>
      leaseResponse((response, { sinceSeq, leaseMs, sinceCv }) => {
        if (response.kind === "lease" || sinceSeq < 0) return response;
        const nothing = { snapshot: false, rows: [], cutOffs: [], heldMs: 0, changes: [] };
        return { ...nothing, kind: "lease", seq: sinceSeq, leaseMs, cv: sinceCv };
      }),
    in: { modes: { filters: true, paced: true } },
    from: 16,
  },
  "a paced holder that takes itself for covered": {
    apply: () =>
      relayResponse(({ againMs, ...response }, { leaseMs, sinceCv }) => {
        if (againMs === undefined) return response;
        const content = {
          kind: "lease",
          snapshot: true,
          seq: 0,
          rows: [],
          cutOffs: [],
          leaseMs,
          heldMs: 0,
          cv: -1,
          changes: undefined,
        } as const;
        const shards = [0, 1].map((shard) => ({
          name: `revocation:g1:wnam:${shard}`,
          content: [content],
          isCovered: true,
        }));
        return { ...response, leaseMs, cv: sinceCv, shards };
      }),
    in: { ...relayed, rows: 12, modes: { paced: true } },
  },
  "a key that signs before every isolate knows it": {
    apply: () => around(KeyRows, "all", (_self, all) => all().map(({ isNew: _, ...key }) => key)),
    in: signing,
  },
  "a holder forgotten when its connection is lost": {
    apply: () =>
      around(SimulatedWorld, "disconnected", (_self, _disconnected, instance, method, args) => {
        const [request] = args;
        if (method === "lease" && typeof request === "object" && request !== null && "holder" in request)
          instance.invoke("release", [request.holder], () => {});
      }),
    in: { frequent: ["partitions"] },
    from: 9,
  },
  "the leases of a relay released while isolates have theirs": {
    apply: () => restoreAll([around(RelayMachine, "countLiveHolders", () => 0), replaceValue(HeldCalls, "size", 0)]),
    in: { relays: 8, leaseMs: 8_000, requestMs: 1_000, revokeMs: 5_000, runMs: 40_000 },
    from: 16,
  },
  "a request that arrives with its first byte": {
    apply: () =>
      around(SimulatedIsolate, "readBody", (self, readBody, task, bodyMs, decide) => {
        const context = self.createContext();
        readBody(task, bodyMs, async (arrival) => decide({ ...arrival, context }));
      }),
    from: 97,
  },
  "a sign-out that responds before its grants are revoked": {
    apply: () =>
      around(Sessions, "end", async (_self, end, context, id, reason) => {
        const ended = await end(context, id, reason);
        return ended && { ...ended, due: [] };
      }),
  },
  "a due grant forgotten before its revocation is in force": {
    apply: () =>
      around(GrantRevocations, "ofSession", (self, ofSession, sid, clientId) => {
        const due = ofSession(sid, clientId);
        self.acknowledge(due.map(({ grant }) => grant.grantId));
        return due;
      }),
    from: 14,
  },
};

/** The first record that a change of each name carried. */
const firstCarried = new Map<string, string>();

function carryEarlier(change: NamedChange): NamedChange {
  const { kind, id, version, record } = change;
  if (record === undefined) return change;
  // Versions are those of one run: a smaller one begins another.
  const key = `${kind}:${id}`;
  if (version < (lastCarried.get(key) ?? 0)) firstCarried.delete(key);
  lastCarried.set(key, version);
  const text = firstCarried.get(key) ?? record.text;
  firstCarried.set(key, text);
  return { ...change, record: { ...record, text } };
}

const lastCarried = new Map<string, number>();

const relayPlaces = new WeakMap<ShardMap, Awaited<ReturnType<ShardMap["placeRelay"]>>>();

function endWaitsWithFirst(): Restore {
  const awaited = new WeakMap<LeaseHolders, Set<PendingChange>>();
  return restoreAll([
    around(LeaseHolders, "await", (self, wait, seq, nowMs) => {
      const pending = wait(seq, nowMs);
      awaited.set(self, (awaited.get(self) ?? new Set()).add(pending));
      return pending;
    }),
    around(LeaseHolders, "confirm", (self, confirm, holder, seq) => {
      const lacked = [...(awaited.get(self) ?? [])].filter(
        (pending) => pending.seq <= seq && pending.lacking.has(holder),
      );
      const settled = confirm(holder, seq);
      for (const pending of lacked) pending.lacking.clear();
      return [...settled, ...lacked];
    }),
  ]);
}

/** Clocks beyond the assumptions: the simulation must detect the resulting errors. */
export const clockMutants: Readonly<Record<string, Omit<Mutant, "apply">>> = {
  "an isolate's clock set back": { in: { modes: { clocks: true }, clockStep: { of: "isolate", byMs: -2_000 } } },
  "a relay's clock set forward": {
    in: { ...relayed, leaseMs: 4_000, modes: { clocks: true }, clockStep: { of: "relay", byMs: 2_000 } },
    from: 52,
  },
  "a relay's clock set back": {
    in: { ...relayed, modes: { clocks: true }, clockStep: { of: "relay", byMs: -2_000 } },
    from: 9,
  },
  "a shard's clock set forward": {
    in: { modes: { clocks: true }, clockStep: { of: "revocation", byMs: 2_000 } },
    from: 8,
  },
};

const calm = { filters: false, paced: false, clocks: false, sweeps: false, tight: false };
/** Many cold isolates at once, for whose snapshots the servers take seconds. */
export const coldStart: Circumstances = {
  ...relayed,
  faults: false,
  modes: { ...calm, paced: true },
  rows: 12,
  revokeMs: 1e9,
  requestMs: 60,
  leaseMs: 1_000,
};
/** Warm isolates without faults, while a change is announced every two seconds on average. */
export const steadyNews: Circumstances = { ...coldStart, modes: calm, rows: 0, revokeMs: 2_000 };
/** Warm isolates without faults and without changes. */
export const quiet: Circumstances = { ...steadyNews, revokeMs: 1e9 };

/** These mutants decide nothing wrongly, but leave a holder without a lease (L1). */
export const waitingMutants: Readonly<Record<string, Mutant>> = {
  "a paced holder that never comes again": {
    apply: () =>
      relayResponse((response) => (response.againMs === undefined ? response : { ...response, againMs: 1e9 })),
  },
};

/** These mutants decide nothing wrongly either, but isolates call their relay more often than specified, or their leases end (C1). */
export const costlyMutants: Readonly<Record<string, Mutant>> = {
  "a run that does not wait for the renewal of the run before it": {
    apply: () =>
      around(RenewalRuns, "start", (_self, start, atMs, leaseMs) => {
        return { ...start(atMs, leaseMs), waitMs: 0 };
      }),
  },
  "renewals held for half of a lease": {
    apply: () =>
      around(RelayMachine, "holdUntilMs", (_self, hold, request, nowMs) => {
        return Math.min(hold(request, nowMs), nowMs + 500);
      }),
  },
  "renewals held for nine tenths of a lease": {
    apply: () =>
      around(RelayMachine, "holdUntilMs", (_self, hold, request, nowMs) => {
        return hold(request, nowMs) > nowMs ? nowMs + 900 : nowMs;
      }),
  },
};
