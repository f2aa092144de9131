import { type ControlChange, ControlView } from "../../src/cache/control-view.ts";
import { DecisionReads } from "../../src/cache/decision-reads.ts";
import type { RequestContext } from "../../src/http/request-context.ts";
import { type CutOff, combineCutOffs, cutOffKey } from "../../src/objects/token-revocation-store.ts";
import { isCutOff, type RevocationSubject } from "../../src/revocation/revocation-subject.ts";
import { newGrantId } from "../../src/sharding/grant-id.ts";

/**
 * **Sign-ins, authorizations and cut-offs in any interleaving, by isolates whose clocks are off by up to ten minutes.** The control
 * view, the reads of a decision, the ids of grants and the rule of cut-offs are the real ones; D1, shards and isolates are modelled.
 * A change is acknowledged when every isolate has it (the lease protocol, simulated elsewhere); before that, any of them may lack it.
 */
export interface Mutation {
  /** Cut-offs without a version: the rule of earlier releases, by time. */
  readonly byTime?: boolean;
  /** The session rests on the version after its credentials were read. */
  readonly sessionVersionLate?: boolean;
  /** An isolate without a lease does not confirm its version before a sign-in. */
  readonly unconfirmed?: boolean;
  /** A grant rests on the version at which its decision ended. */
  readonly grantVersionLate?: boolean;
  /** A grant rests on its own decision, and not on the sign-in of its session. */
  readonly withoutSession?: boolean;
  /** A cut-off is ordered by the newest change that is announced with it. */
  readonly byNewest?: boolean;
  /** The session that a change of password opens rests on the newest announced change. */
  readonly reopenedByNewest?: boolean;
  /** A shard replaces a cut-off instead of combining both. */
  readonly replaces?: boolean;
}

interface Session {
  readonly sub: string;
  readonly version: number;
  readonly signedInAtMs: number;
  readonly arrivedAt: number;
  /** When its credentials were read, or replaced by its own change. */
  readonly credentialsAt: number;
}

interface Grant {
  readonly subject: RevocationSubject;
  readonly session: Session;
  readonly arrivedAt: number;
  readonly clientReadAt: number;
}

interface Change {
  readonly cutOff: CutOff;
  readonly committedAt: number;
  acknowledgedAt: number;
  readonly reopened: Session | undefined;
}

interface Shard {
  cv: number;
  readonly cutOffs: Map<string, CutOff>;
}

interface Isolate {
  readonly clockOffsetMs: number;
  readonly control: ControlView;
  /** The cut-offs of each shard that it has installed. */
  readonly replicas: readonly Map<string, CutOff>[];
  /** When its cached record of a client was read. */
  readonly clients: Map<string, number>;
  /** It has no lease at times, and then knows nothing of the newest changes. */
  readonly isCold: boolean;
}

const users = ["alice", "alice", "alice", "bob"];
const clients = ["app", "api"];
const noContext = {} as RequestContext<never>;

export class CutOffSimulation {
  readonly #mutation: Mutation;
  readonly #random: () => number;
  readonly #log: ControlChange[] = [];
  readonly #shards: readonly Shard[] = Array.from({ length: 2 }, () => ({ cv: 0, cutOffs: new Map() }));
  readonly #isolates: readonly Isolate[];
  readonly #sessions: Session[] = [];
  readonly #grants: Grant[] = [];
  readonly #changes: Change[] = [];
  readonly #ready: (() => void)[] = [];
  readonly #newestFirst: number;
  #now = 0;

  constructor(seed: number, mutation: Mutation) {
    this.#mutation = mutation;
    this.#random = mulberry(seed);
    this.#isolates = Array.from({ length: 4 }, (_, index) => this.#isolate(index === 3));
    this.#newestFirst = this.#pick([0, 0.5, 0.8, 0.95]);
    this.#append("generations", "*");
  }

  #isolate(isCold: boolean): Isolate {
    const control = new ControlView();
    const isolate: Isolate = {
      clockOffsetMs: this.#pick([-600_000, -1_500, 0, 1_500, 600_000]),
      control,
      replicas: this.#shards.map(() => new Map()),
      clients: new Map(),
      isCold,
    };
    control.onChange("client", (id) => (id === undefined ? isolate.clients.clear() : isolate.clients.delete(id)));
    return isolate;
  }

  /** Returns the broken properties. */
  async run(): Promise<readonly string[]> {
    for (const isolate of this.#isolates) await isolate.control.observe(noContext, 1, []);
    for (const shard of this.#shards) shard.cv = 1;
    const running = new Set<Promise<void>>();
    const start = (work: Promise<void>) => {
      const tracked = work.finally(() => running.delete(tracked));
      running.add(tracked);
    };
    for (let index = 0; index < 80; index += 1) {
      this.#now += 1;
      start(
        this.#pick([() => this.#signIn(), () => this.#authorize(), () => this.#authorize(), () => this.#change()])(),
      );
      // At times everything is acknowledged.
      while (running.size > 0 && index % 20 === 0) await this.#advance();
      const steps = Math.floor(this.#random() * 12);
      for (let step = 0; step < steps; step += 1) await this.#advance();
    }
    while (running.size > 0) await this.#advance();
    return this.#violations();
  }

  async #advance(): Promise<void> {
    this.#now += 1;
    // Often the newest: one operation then runs to its end while others are held up in the middle.
    const index = this.#random() < this.#newestFirst ? this.#ready.length - 1 : this.#random() * this.#ready.length;
    const [next] = this.#ready.splice(Math.floor(index), 1);
    next?.();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }

  /** Anything else may happen here. */
  #others(): Promise<void> {
    return new Promise((resolve) => this.#ready.push(resolve));
  }

  #append(kind: ControlChange["kind"], id: string): number {
    const version = this.#log.length + 1;
    this.#log.push({ version, kind, id });
    return version;
  }

  #clock({ clockOffsetMs }: Pick<Isolate, "clockOffsetMs">): number {
    return 1_900_000_000_000 + this.#now * 100 + clockOffsetMs;
  }

  async #signIn(): Promise<void> {
    const isolate = this.#pick(this.#isolates);
    const sub = this.#pick(users);
    const arrivedAt = this.#now;
    if (isolate.isCold && this.#mutation.unconfirmed !== true)
      await this.#observe(isolate, this.#pick(this.#shards).cv);
    const version = isolate.control.version!;
    await this.#others();
    const credentialsAt = this.#now;
    await this.#others();
    const rests = this.#mutation.sessionVersionLate === true ? isolate.control.version! : version;
    const signedInAtMs = this.#clock(isolate);
    this.#sessions.push({ sub, version: rests, signedInAtMs, arrivedAt, credentialsAt });
  }

  async #authorize(): Promise<void> {
    if (this.#sessions.length === 0) return;
    const isolate = this.#pick(this.#isolates);
    const session = this.#pick(this.#sessions.slice(-8));
    const clientId = this.#pick(clients);
    const arrivedAt = this.#now;
    if (isolate.isCold) await this.#observe(isolate, this.#pick(this.#shards).cv);
    const reads = new DecisionReads(isolate.control);
    await this.#others();
    const { sub, version, signedInAtMs } = session;
    const versions = { client: version, user: version };
    const sessionSubject = { ...subjectOf("session", signedInAtMs, sub, "op"), versions };
    const replica = this.#pick(isolate.isCold ? this.#shards.map(({ cutOffs }) => cutOffs) : isolate.replicas);
    const cutOff = replica.get(cutOffKey("sub", sub));
    if (cutOff !== undefined && isCutOff(sessionSubject, cutOff)) return;
    await this.#others();
    reads.note("client", clientId);
    if (!isolate.clients.has(clientId)) isolate.clients.set(clientId, this.#now);
    const clientReadAt = isolate.clients.get(clientId)!;
    await this.#others();
    reads.note("user", sub);
    await this.#others();
    if (reads.isTorn) return;
    const client = this.#mutation.grantVersionLate === true ? isolate.control.version! : reads.beganAt!;
    const grantId = newGrantId({ client, user: this.#mutation.withoutSession === true ? client : version });
    const subject = subjectOf(grantId, this.#clock(isolate), sub, clientId);
    this.#grants.push({ subject, session, arrivedAt, clientReadAt });
  }

  /** A new password, a disabled client, an operator's revocation, or a change that revokes nothing. */
  async #change(): Promise<void> {
    const what = this.#pick(["password", "client", "operator", "other"] as const);
    const id = what === "client" ? this.#pick(clients) : this.#pick(users);
    const kind = what === "client" ? "client" : what === "operator" ? "cut-off" : "user";
    const committedAt = this.#now;
    const version = this.#append(what === "other" ? "rbac" : kind, id);
    await this.#others();
    const cv = this.#log.length;
    const cutOff = what === "other" ? undefined : this.#cutOff(what === "client" ? "client" : "sub", id, version, cv);
    const reopenedVersion = this.#mutation.reopenedByNewest === true ? cv : version;
    const signedInAtMs = this.#clock(this.#pick(this.#isolates)) + 2_001;
    const reopened =
      what === "password"
        ? { sub: id, version: reopenedVersion, signedInAtMs, arrivedAt: committedAt, credentialsAt: committedAt }
        : undefined;
    const change = cutOff && { cutOff, committedAt, acknowledgedAt: Number.POSITIVE_INFINITY, reopened };
    if (change !== undefined) this.#changes.push(change);
    await Promise.all(this.#shards.map((shard, index) => this.#raise(shard, index, cv, cutOff)));
    if (change !== undefined) change.acknowledgedAt = this.#now;
    if (reopened !== undefined) this.#sessions.push(reopened);
  }

  #cutOff(kind: "sub" | "client", id: string, version: number, cv: number): CutOff {
    const notBeforeMs = this.#clock({ clockOffsetMs: 0 }) + 1_000;
    const key = cutOffKey(kind, id);
    if (this.#mutation.byTime === true) return { key, notBeforeMs, untilMs: 2_000_000_000_000 };
    const order = this.#mutation.byNewest === true ? cv : version;
    return { key, notBeforeMs, untilMs: 2_000_000_000_000, version: order, versionedAtMs: notBeforeMs };
  }

  async #raise(shard: Shard, index: number, cv: number, cutOff: CutOff | undefined): Promise<void> {
    await this.#others();
    shard.cv = Math.max(shard.cv, cv);
    if (cutOff !== undefined) this.#install(shard.cutOffs, cutOff);
    const holders = this.#isolates.filter(({ isCold }) => !isCold);
    await Promise.all(
      holders.map(async (isolate) => {
        await this.#others();
        await this.#observe(isolate, cv);
        if (cutOff !== undefined) this.#install(isolate.replicas[index]!, cutOff);
      }),
    );
  }

  #install(cutOffs: Map<string, CutOff>, cutOff: CutOff): void {
    const known = cutOffs.get(cutOff.key);
    const isReplaced = known === undefined || this.#mutation.replaces === true;
    cutOffs.set(cutOff.key, isReplaced ? cutOff : combineCutOffs(known, cutOff));
  }

  async #observe({ control }: Isolate, cv: number): Promise<void> {
    const known = control.version ?? 0;
    await control.observe(noContext, cv, this.#log.slice(known, cv));
  }

  #violations(): string[] {
    const broken: string[] = [];
    for (const { cutOffs } of this.#shards) {
      for (const session of this.#sessions) broken.push(...this.#violationsOfSession(cutOffs, session));
      for (const { subject, session, arrivedAt, clientReadAt } of this.#grants) {
        broken.push(...this.#violationsOf(cutOffs, "sub", subject, { ...session, session }));
        broken.push(...this.#violationsOf(cutOffs, "client", subject, { arrivedAt, credentialsAt: clientReadAt }));
      }
    }
    return broken;
  }

  #violationsOfSession(cutOffs: ReadonlyMap<string, CutOff>, session: Session): string[] {
    const { sub, version, signedInAtMs } = session;
    const subject = { ...subjectOf("session", signedInAtMs, sub, "op"), versions: { client: version, user: version } };
    return this.#violationsOf(cutOffs, "sub", subject, { ...session, session });
  }

  /** `credentialsAt`: when what it rests on was read. */
  #violationsOf(
    cutOffs: ReadonlyMap<string, CutOff>,
    kind: "sub" | "client",
    subject: RevocationSubject,
    rests: { readonly arrivedAt: number; readonly credentialsAt: number; readonly session?: Session },
  ): string[] {
    const key = cutOffKey(kind, kind === "sub" ? subject.sub : subject.clientId);
    const combined = cutOffs.get(key);
    const isRevoked = combined !== undefined && isCutOff(subject, combined);
    const broken: string[] = [];
    // Each cut-off for itself, because a later one may hide its fault.
    for (const { cutOff, committedAt, acknowledgedAt, reopened } of this.#changes) {
      if (cutOff.key !== key) continue;
      const isOwn = reopened !== undefined && reopened === rests.session;
      const mustEnd = rests.credentialsAt < committedAt && !isOwn;
      const mustLive = rests.arrivedAt > acknowledgedAt || isOwn;
      if (mustEnd && !(isRevoked && isCutOff(subject, cutOff))) broken.push(`what rests on before survives ${key}`);
      if (mustLive && isCutOff(subject, cutOff)) broken.push(`what is from after the change is revoked by ${key}`);
    }
    return broken;
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }
}

function subjectOf(grantId: string, grantCreatedAtMs: number, sub: string, clientId: string): RevocationSubject {
  const address = { generation: 1, region: "wnam", shard: 0 };
  return { address, jti: grantId, grantId, grantCreatedAtMs, sub, clientId, lineage: [] };
}

/** @see https://github.com/cprosche/mulberry32 */
function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
