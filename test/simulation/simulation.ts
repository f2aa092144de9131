import { OAuthError, UnavailableError } from "../../packages/protocol/src/oauth/errors.ts";
import { commitControlChange, controlPlane } from "../../packages/shared/src/control/commit-control-change.ts";
import { controlCallMs } from "../../packages/shared/src/control/control-plane-rpc.ts";
import { readsBegun, settle } from "../../packages/shared/src/control/settle.ts";
import { endSession } from "../../packages/shared/src/endings/endings.ts";
import { newGrantId, readGrantVersions } from "../../packages/shared/src/grants/grant.ts";
import { rowUntilMs, tokenKey } from "../../packages/shared/src/grants/grant-revocation.ts";
import type { RevocationSubject } from "../../packages/shared/src/leases/revocation-subject.ts";
import { callObject } from "../../packages/shared/src/storage/call-object.ts";
import { adoptLimits, hastenRetirement, type Modes } from "./modes.ts";
import { observeLeases } from "./observe-leases.ts";
import type { Machine } from "./platform.ts";
import { restoreAll } from "./replace-method.ts";
import { type Arrival, readRecord, recordKinds, records, SimulatedIsolate } from "./simulated-isolate.ts";
import { randomFrom } from "./simulated-time.ts";
import { SimulatedWorld } from "./simulated-world.ts";

export interface Circumstances {
  readonly faults?: boolean;
  readonly modes?: Partial<Modes>;
  readonly relays?: number;
  /** Rows of each shard at the beginning. */
  readonly rows?: number;
  /** The mean time between two revocations; if it is set, nothing else changes. */
  readonly revokeMs?: number;
  /** The mean time between two administrative changes. */
  readonly changeMs?: number;
  /** The mean time between requests of each isolate. */
  readonly requestMs?: number;
  /** Faults that are frequent in every run. */
  readonly frequent?: readonly FaultName[];
  /** How far a clock is set, beyond the assumptions. */
  readonly clockStep?: { readonly of: "isolate" | "relay" | "revocation"; readonly byMs: number };
  readonly leaseMs?: number;
  /** Isolates sign with keys that KeyManager generates when they are first needed. */
  readonly signs?: boolean;
  readonly runMs?: number;
}

export interface Run {
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly acknowledgementsMs: readonly number[];
  /** The calls per second of a warm isolate to its relay, and the calls of warm isolates that its lease should have saved. */
  readonly callsPerIsolate: number;
  readonly lapses: number;
}

/** An item that may be revoked: a token by its own row, or by its grant. */
interface Token {
  readonly subject: RevocationSubject;
  /** Measured by the clock of the reader. */
  readonly untilMs: number;
  /** In real time: when a revocation of it began, and when that was in force. */
  begunAtMs: number;
  inForceAtMs: number;
}

interface SignedIn {
  readonly id: string;
  readonly tokens: readonly Token[];
}

/** A record that a decision has read, and the control version that the isolate knew then. */
interface Found {
  readonly name: string;
  readonly value: number;
  readonly known: number;
}

export type FaultName =
  | "shardRestarts"
  | "relayRestarts"
  | "otherRestarts"
  | "frozen"
  | "killed"
  | "partitions"
  | "idle"
  | "closings"
  | "openings";

const isolateCount = 5;
const users = ["alice", "bob", "carol", "dave"];
const runMs = 14_000;
/** Rows outlive the run. */
const neverMs = 100_000_000_000;
const never = Number.POSITIVE_INFINITY;
const typ = "at+jwt";
/** The maximum number of checks of warm isolates: for a revocation that is not installed yet, or a first request after a pause. */
const mostChecks = 8;
/** The time from which isolates have their leases in runs without faults. */
const warmAfterMs = 4_000;
/**
 * The maximum number of calls to a closed relay: its isolate did not know, its renewal was outstanding, or the generation table could not be read.
 */
const lateCalls = 15;

/**
 * **One run of the product's own classes on a simulated platform** (simulated-world.ts): random requests, revocations, sign-outs, administrative
 * changes and faults, from a seed. Each response is compared with the state that was in force when its request was complete.
 */
export class Simulation {
  readonly #world: SimulatedWorld;
  readonly #modes: Modes;
  readonly #circumstances: Circumstances;
  readonly #isolates: SimulatedIsolate[] = [];
  readonly #tokens: Token[] = [];
  readonly #sessions: SignedIn[] = [];
  readonly #acknowledgementsMs: number[] = [];
  readonly #leaseMs: number;
  readonly #shards = 2;
  readonly #stepped = new Set<Machine>();
  readonly #lateCalls = new Map<Machine, number>();
  #areRelaysClosed = false;
  /** Exact checks at the end of the run. */
  #lateChecks = 0;
  /** The newest generation of revocation shards: new tokens are there. */
  #generation = 1;
  /** The newest control version whose change was acknowledged. */
  #controlInForce = 0;
  /** The newest generation of relays that every isolate knows of, and since when. */
  #relays = { generation: 1, sinceMs: never };

  constructor(seed: number, circumstances: Circumstances = {}) {
    this.#circumstances = circumstances;
    const { faults = true, modes = {} } = circumstances;
    const random = randomFrom(seed);
    const chance = (probability: number) => random() < probability;
    this.#modes = {
      filters: chance(0.3),
      paced: chance(0.3),
      clocks: chance(0.5) && faults,
      sweeps: chance(0.3) && faults,
      tight: chance(0.2) && faults,
      ...modes,
    };
    this.#leaseMs = circumstances.leaseMs ?? (chance(0.5) ? 1_000 : chance(0.5) ? 400 : 2_000);
    this.#world = new SimulatedWorld(seed, {
      faults,
      shards: this.#shards,
      relays: circumstances.relays ?? (chance(0.7) ? 2 : 0),
      leaseMs: this.#leaseMs,
      // By 57 s, and less than 60 s at the end.
      ...(this.#modes.sweeps ? { clockOffset: (isObject: boolean) => (isObject ? 1.06 : -1.06) } : {}),
    });
    for (const { ids, insert } of Object.values(records)) {
      for (const id of ids) this.#world.d1.run({ sql: insert, values: [id] });
    }
  }

  async run(): Promise<Run> {
    const world = this.#world;
    const restore = restoreAll([
      adoptLimits(this.#modes),
      hastenRetirement(),
      ...(this.#modes.clocks ? [] : [observeLeases(world)]),
    ]);
    const { faults } = world;
    const { revokeMs, requestMs, changeMs = 2_500, rows = 0 } = this.#circumstances;
    try {
      const control = world.host("control");
      // The set-up is announced before isolates are warm, as in a deployment, and not when the first alarm is due.
      if (!faults) world.deliver(control.reached().task, () => control.reached().invoke("wakeAudit", [], () => {}));
      world.watch = (machine, name, method) => this.#watch(machine, name, method);
      if (rows > 0) this.#fill(rows);
      for (let index = 0; index < isolateCount; index += 1) {
        this.#isolates.push(this.#boot());
        world.repeat(requestMs ?? 30 + 200 * world.random(), () => this.#introspect(this.#isolates[index]!));
      }
      world.repeat(revokeMs ?? 800, () => this.#revoke());
      if (revokeMs === undefined) {
        world.repeat(changeMs, () => this.#change());
        world.repeat(2_500, () => this.#signIn());
        world.repeat(3_500, () => this.#signOut());
        world.repeat(4_000, () => this.#cutOff());
      }
      if (this.#circumstances.signs === true) world.repeat(700, () => this.#sign());
      if (faults) this.#startFaults();
      await world.run(this.#circumstances.runMs ?? runMs, () => world.violations.length === 0);
    } finally {
      restore();
    }
    const { violations, counts } = world;
    if (!faults && !this.#modes.filters && this.#lateChecks > mostChecks) world.violate("L1: an isolate has no lease");
    const lapses = (counts["revocation.check"] ?? 0) + (counts["revocation.lease"] ?? 0);
    const callsPerIsolate = (1_000 * (counts["relay.lease"] ?? 0)) / isolateCount / (runMs - warmAfterMs);
    return { violations, counts, acknowledgementsMs: this.#acknowledgementsMs, callsPerIsolate, lapses };
  }

  #boot(): SimulatedIsolate {
    return new SimulatedIsolate(this.#world);
  }

  // Tokens and what ends them.

  /** Rows of the past, before any isolate asks. */
  #fill(rows: number): void {
    for (let shard = 0; shard < this.#shards; shard += 1) {
      const event = { type: "token.revoked", payload: {} };
      const requests = Array.from({ length: rows }, (_, row) => ({
        key: `j:past-${row}`,
        untilMs: neverMs,
        operationId: `past ${row}`,
        event,
      }));
      const shardInstance = this.#world.host(`revocation:g1:wnam:${shard}`).reached();
      this.#world.deliver(shardInstance.task, () => shardInstance.invoke("revoke", [requests, false], () => {}));
    }
  }

  #token(shard = Math.floor(this.#world.random() * this.#shards)): Token {
    const address = { generation: this.#generation, region: "wnam", shard: shard % this.#shards };
    const jti = `t${this.#tokens.length}`;
    // Live by the slowest clocks for some seconds, and expired by the fastest, a minute before the row is deleted.
    const expiresAtMs = this.#world.beganAtMs + this.#world.nowMs - 27_000 + 6_000 * this.#world.random();
    const untilMs = this.#modes.sweeps && this.#world.chance(0.5) ? expiresAtMs : neverMs;
    const version = this.#controlInForce;
    const grantId = newGrantId({ client: version, user: version });
    const subject = { address, jti, grantId, sub: this.#world.pick(users), clientId: "client", lineage: [] };
    const token = { subject, untilMs, begunAtMs: never, inForceAtMs: never };
    this.#tokens.push(token);
    return token;
  }

  /** Everything in a generation that may be retired has expired. */
  #isRouted({ subject }: Token): boolean {
    const sql = "SELECT max(generation) AS newest FROM shard_generations WHERE store = 'revocation'";
    return subject.address.generation === this.#world.d1.run({ sql, values: [] }).rows[0]?.["newest"];
  }

  #inForce(token: Token): void {
    if (!this.#isRouted(token)) return;
    token.inForceAtMs = Math.min(token.inForceAtMs, this.#world.nowMs);
    // No request that arrives now may be decided without it.
    for (const isolate of this.#isolates) this.#introspect(isolate, token);
  }

  /** Repeats, at another isolate, an operation that returned 503. */
  #attempt(left: number, work: (arrival: Arrival) => Promise<void>): void {
    if (left === 0) return;
    this.#world.pick(this.#isolates).receive(async (arrival) => {
      try {
        await work(arrival);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        this.#world.count("unavailable");
        this.#world.after(500, () => this.#attempt(left - 1, work));
      }
    });
  }

  #revoke(): void {
    const token = this.#token();
    const { jti, address } = token.subject;
    const event = { type: "token.revoked", payload: { jti } };
    const request = { key: tokenKey(jti), untilMs: rowUntilMs(token.untilMs), operationId: `revoke ${jti}`, event };
    const begunMs = this.#world.nowMs;
    token.begunAtMs = begunMs;
    this.#attempt(4, async ({ context, memory }) => {
      await memory.revocation.revoke(context, address, [request]);
      this.#world.count("acknowledged");
      this.#acknowledgementsMs.push(this.#world.nowMs - begunMs);
      this.#inForce(token);
    });
  }

  #signIn(): void {
    this.#attempt(1, async ({ context, memory }) => {
      const version = memory.control.version ?? 0;
      const proof = { method: "password", sub: "someone", atMs: this.#world.nowMs, controlVersion: version } as const;
      const lifetime = { idleMs: 3_600_000, absoluteMs: 3_600_000 };
      const prepared = await memory.sessions.prepare(context, { sub: "someone", proofs: [proof], version }, lifetime);
      const { id } = prepared;
      await memory.sessions.open(context, prepared, lifetime);
      const tokens: Token[] = [];
      for (const clientId of ["client", "other"]) {
        const token = this.#token();
        const { grantId, address } = token.subject;
        const client = { clientId, subject: "someone", consented: [], registeredAtMs: undefined };
        await memory.sessions.admit(context, id, { client, grant: { grantId, address, untilMs: neverMs } });
        tokens.push(token);
      }
      this.#sessions.push({ id, tokens });
      this.#world.count("signedIn");
    });
  }

  /** Signs out once or twice, perhaps at the same time. A caller that receives success may rely on it. */
  #signOut(): void {
    const [session] = this.#sessions.splice(0, 1);
    if (session === undefined) return;
    for (const token of session.tokens) token.begunAtMs = Math.min(token.begunAtMs, this.#world.nowMs);
    for (let times = this.#world.chance(0.4) ? 2 : 1; times > 0; times -= 1) {
      this.#world.after(times === 1 ? 0 : 1_500 * this.#world.random(), () =>
        this.#attempt(4, async ({ context, memory }) => {
          await endSession(context, memory, { id: session.id }, "logout");
          this.#world.count("signedOut");
          for (const token of session.tokens) this.#inForce(token);
        }),
      );
    }
  }

  /** An administrator changes a record, or closes and opens the relays. */
  #change(): void {
    const kind = this.#world.pick(recordKinds);
    const id = this.#world.pick<string>(records[kind].ids);
    this.#attempt(1, async ({ context }) => {
      const statement = context.env.DB.prepare(records[kind].update).bind(id);
      const { version } = await commitControlChange(context, [statement], [{ kind, id }]);
      this.#world.count("controlAcknowledged");
      this.#controlInForce = Math.max(this.#controlInForce, version);
      for (const isolate of this.#isolates) this.#introspect(isolate);
    });
  }

  /** An operator revokes every token of a user that was issued before. */
  #cutOff(): void {
    const id = this.#world.pick(users);
    const versions =
      "SELECT min(version) AS first, max(version) AS last FROM control_changes WHERE version > ?1 AND (?2 IS NULL OR id = ?2)";
    const before = this.#world.d1.run({ sql: versions, values: [0, null] }).rows[0]?.["last"];
    const operationId = `cut-off ${this.#world.nowMs}`;
    const tokens = this.#tokens.filter(({ subject }) => subject.sub === id);
    this.#attempt(3, async ({ context }) => {
      const request = { kind: "sub" as const, id, operationId, actor: "operator" };
      await callObject("control plane", () => controlPlane(context).cutOff(request), controlCallMs);
      this.#world.count("cutOffs");
      // The first change since then: its own, or one that was announced before it.
      const [row] = this.#world.d1.run({ sql: versions, values: [before, `nb:sub:${id}`] }).rows;
      this.#controlInForce = Math.max(this.#controlInForce, Number(row?.["first"]));
      for (const token of tokens)
        if (this.#isRouted(token)) token.inForceAtMs = Math.min(token.inForceAtMs, this.#world.nowMs);
      for (const isolate of this.#isolates) this.#introspect(isolate, this.#world.pick(tokens));
    });
  }

  /** A token of this provider is recognised wherever it is presented from now on (K6). */
  #sign(): void {
    const alg = this.#world.pick(["ES256", "PS256", "EdDSA"] as const);
    this.#attempt(1, async ({ context, memory }) => {
      const claims = { iss: context.settings.issuer };
      const jwt = await settle(context, memory, () => memory.keyRing.sign(context, { alg, typ, claims }));
      this.#world.count("signed");
      for (const isolate of this.#isolates) this.#verify(isolate, jwt);
    });
  }

  #verify(isolate: SimulatedIsolate, jwt: string): void {
    if (!isolate.isRunning) return;
    isolate.receive(async ({ context, memory }) => {
      try {
        const verify = () => memory.keyRing.verify(context, jwt, { typ: [typ] });
        const verified = await settle(context, memory, verify, readsBegun);
        if (verified === undefined) this.#world.violate("K6: a token of this provider is unknown");
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
      }
    });
  }

  // Requests.

  #somebodys(): Token | undefined {
    const begun = this.#tokens.filter(({ inForceAtMs }) => inForceAtMs < never);
    if (this.#world.chance(0.3)) return this.#world.pick(this.#tokens.slice(-6));
    return begun[Math.floor(this.#world.random() ** 0.3 * begun.length)];
  }

  #introspect(isolate: SimulatedIsolate, token = this.#somebodys()): void {
    if (!isolate.isRunning || this.#world.nowMs < isolate.idleUntilMs) return;
    isolate.receive(async (arrival) => {
      const { context, memory, atMs } = arrival;
      const inForce = this.#controlInForce;
      const isDue = token !== undefined && token.inForceAtMs <= atMs && token.untilMs > context.arrivedAtMs;
      try {
        const decide = async () => {
          const found: { readonly name: string; readonly value: number; readonly known: number | undefined }[] = [];
          for (const kind of this.#world.chance(0.3) ? recordKinds : []) {
            for (const id of records[kind].ids) {
              const value = await readRecord(arrival, kind, id);
              found.push({ name: `${kind}:${id}`, value, known: memory.control.version });
            }
          }
          const subjects = token === undefined ? [] : [token.subject];
          const isRevoked = await memory.revocation.isRevoked(context, subjects);
          // A copy that was read before the first version is judged by that version.
          const judged = found.map(({ known, ...read }) => ({ ...read, known: known ?? memory.control.version ?? 0 }));
          return { isRevoked, found: judged };
        };
        // An isolate that knows no version decides by copies.
        const { isRevoked, found } = await settle(context, memory, decide, readsBegun);
        this.#world.count("decided");
        if (isDue && !isRevoked) this.#world.violate(`I1: ${token.subject.jti} is active after its end was in force`);
        if (isRevoked && token?.begunAtMs === never && !this.#mayBeRevoked(token, context.arrivedAtMs))
          this.#world.violate(`E1: ${token.subject.jti} is revoked by nobody`);
        this.#judgeReads(found, inForce);
      } catch (error) {
        if (error instanceof OAuthError || !(error instanceof UnavailableError)) throw error;
        this.#world.count("unavailable");
      }
    });
  }

  /** The token has expired, its generation is retired, or a cut-off was committed after it. */
  #mayBeRevoked(token: Token, atMs: number): boolean {
    const { subject, untilMs } = token;
    if (untilMs <= atMs || !this.#isRouted(token)) return true;
    const sql = "SELECT max(version) AS version FROM control_changes WHERE kind = 'cut-off' AND id = ?";
    const [row] = this.#world.d1.run({ sql, values: [`nb:sub:${subject.sub}`] }).rows;
    return Number(row?.["version"]) > readGrantVersions(subject.grantId).user;
  }

  /**
   * A record contains the number of its last change. All records that are read belong to one version, not older than the version in force; a record
   * of D1 may contain a change that the isolate did not know yet.
   */
  #judgeReads(found: readonly Found[], inForce: number): void {
    if (found.length === 0) return;
    this.#world.count("decidedByRecords");
    const committed = this.#world.d1.run({ sql: "SELECT version, kind, id FROM control_changes", values: [] }).rows;
    let from = 0;
    let until = never;
    for (const { name, value, known } of found) {
      const next = committed.find(({ version, kind, id }) => `${kind}:${id}` === name && Number(version) > value);
      from = Math.max(from, Math.min(value, known));
      until = Math.min(until, next === undefined ? never : Number(next["version"]) - 1);
    }
    if (from > until) this.#world.violate("V1: a decision rests on records of different versions");
    if (until < inForce) this.#world.violate(`V1: a decision rests on version ${until}, and ${inForce} was in force`);
  }

  // Faults.

  /** In each run, one of the faults is frequent. */
  #startFaults(): void {
    const world = this.#world;
    const faults: Readonly<Record<FaultName, readonly [number, () => void]>> = {
      shardRestarts: [8_000, () => this.#restart("revocation:")],
      relayRestarts: [5_000, () => this.#restart("relay:")],
      otherRestarts: [8_000, () => this.#restart("session:", "control")],
      frozen: [2_500, () => this.#freeze()],
      killed: [5_000, () => this.#kill()],
      partitions: [5_000, () => this.#partition()],
      idle: [4_000, () => this.#goIdle()],
      closings: [16_000, () => this.#toggleRelays()],
      openings: [16_000, () => this.#openGeneration()],
    };
    const frequent: readonly string[] = this.#circumstances.frequent ?? [world.pick(Object.keys(faults))];
    for (const [name, [meanMs, run]] of Object.entries(faults)) {
      world.repeat(meanMs / (frequent.includes(name) ? 6 : 1), () => {
        world.count(name);
        run();
      });
    }
    if (this.#modes.clocks) world.repeat(400, () => world.pick(this.#machines()).clock.slew(world.nowMs));
    const { clockStep } = this.#circumstances;
    if (clockStep !== undefined) world.repeat(1_500, () => this.#step(clockStep));
  }

  #machines(): readonly Machine[] {
    const objects = this.#world.hosts.flatMap(({ owner }) => (owner === undefined ? [] : [owner.task.machine]));
    return [...this.#isolates.map(({ machine }) => machine), ...objects];
  }

  /** Sets each clock once. */
  #step({ of, byMs }: NonNullable<Circumstances["clockStep"]>): void {
    const owners = this.#world.hosts.flatMap(({ name, owner }) =>
      name.startsWith(of) && owner ? [owner.task.machine] : [],
    );
    const machine = this.#world.pick(of === "isolate" ? this.#isolates.map((isolate) => isolate.machine) : owners);
    if (machine === undefined || this.#stepped.has(machine)) return;
    this.#stepped.add(machine);
    machine.clock.step(this.#world.nowMs, byMs);
  }

  /** Sends no request to an isolate for longer than its leases last. */
  #goIdle(): void {
    this.#world.pick(this.#isolates).idleUntilMs =
      this.#world.nowMs + (1 + 2 * this.#world.random()) * this.#leaseMs + 1_000;
  }

  #openGeneration(): void {
    const regions = { wnam: { shards: this.#shards, hint: "wnam" as const } };
    const operationId = `generation ${this.#world.nowMs}`;
    this.#attempt(3, async ({ context }) => {
      const opening = { store: "revocation" as const, regions, operationId };
      const { generation } = await callObject("control plane", () => controlPlane(context).openGeneration(opening));
      this.#generation = Math.max(this.#generation, generation);
    });
  }

  /** An administrator closes the relays, or opens new ones. */
  #toggleRelays(): void {
    if (this.#circumstances.relays === 0) return;
    this.#areRelaysClosed = !this.#areRelaysClosed;
    const regions = this.#areRelaysClosed ? {} : { wnam: { shards: 2, hint: "wnam" as const } };
    const operationId = `relays ${this.#world.nowMs}`;
    this.#attempt(1, async ({ context }) => {
      const opening = { store: "relay" as const, regions, operationId };
      const { generation } = await callObject("control plane", () => controlPlane(context).openGeneration(opening));
      if (generation > this.#relays.generation) this.#relays = { generation, sinceMs: this.#world.nowMs };
    });
  }

  /** Checks that an isolate that has requests leaves a closed relay. */
  #watch(machine: Machine, name: string, method: string): void {
    const [store, generation = ""] = name.split(":");
    if (this.#world.nowMs > warmAfterMs && this.#isolates.some((isolate) => isolate.machine === machine)) {
      this.#world.count(`${store}.${method}`);
    }
    if (method === "check" && this.#world.nowMs > runMs - 4_000) this.#lateChecks += 1;
    if (store !== "relay" || method !== "lease") return;
    const { generation: present, sinceMs } = this.#relays;
    if (Number(generation.slice(1)) >= present || this.#world.nowMs < sinceMs + 3_000) return;
    const calls = (this.#lateCalls.get(machine) ?? 0) + 1;
    this.#lateCalls.set(machine, calls);
    if (calls > lateCalls) this.#world.violate("N1: a closed relay is used");
  }

  #restart(...prefixes: readonly string[]): void {
    const hosts = this.#world.hosts.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
    if (hosts.length > 0) this.#world.pick(hosts).restart(this.#world.chance(0.5));
  }

  #freeze(): void {
    this.#world.pick(this.#machines()).frozenUntilMs = this.#world.nowMs + 3_000 * this.#world.random();
  }

  #kill(): void {
    const index = Math.floor(this.#world.random() * isolateCount);
    this.#isolates[index]!.machine.isAlive = false;
    this.#isolates[index] = this.#boot();
  }

  #partition(): void {
    const place = this.#world.pick([
      ...this.#isolates.map(({ machine }) => machine),
      ...this.#world.hosts.map(({ name }) => name),
      "KV",
    ]);
    this.#world.partitions.add(place);
    this.#world.after(3_000 * this.#world.random(), () => this.#world.partitions.delete(place));
  }
}
