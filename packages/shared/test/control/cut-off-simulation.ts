import { cutOffKey } from "@edge-op/shared/cut-offs/cut-offs";
import { randomFrom } from "../../../../test/simulation/simulated-time.ts";
import { ControlView } from "../../src/control/control-view.ts";
import { ReadSet } from "../../src/control/read-set.ts";
import { type CutOff, combineCutOffs } from "../../src/cut-offs/cut-offs.ts";
import { newGrantId } from "../../src/grants/grant.ts";
import type { RequestContext } from "../../src/http/request-context.ts";
import { isCutOff, isCutOffByRecords, type RevocationSubject } from "../../src/leases/revocation-subject.ts";
import type { NamedChange } from "../../src/storage/record-kinds.ts";

export interface Mutation {
  /** The session rests on the version after its credentials were read. */
  readonly sessionVersionLate?: boolean;
  /** An isolate without a lease does not confirm its version before a sign-in. */
  readonly unconfirmed?: boolean;
  /** A grant rests on a version that was read after its decision was validated. */
  readonly grantVersionLate?: boolean;
  /** The reads of a decision are not validated when it is committed. */
  readonly unvalidated?: boolean;
  /** An isolate without a lease does not confirm its version when it commits a decision. */
  readonly uncommitted?: boolean;
  /** The version of a grant does not count as a read. */
  readonly unnoted?: boolean;
  /** A grant rests on its own decision, and not on the sign-in of its session. */
  readonly withoutSession?: boolean;
  /** A cut-off is ordered by the newest change that is announced with it. */
  readonly byNewest?: boolean;
  /** The session that a change of password opens rests on the newest announced change. */
  readonly reopenedByNewest?: boolean;
  /** A shard replaces a cut-off instead of combining both. */
  readonly replaces?: boolean;
  /** The record of a user or client gets its cut-off after the change, in a separate transaction. */
  readonly recordedLate?: boolean;
  /** … or before the change, with the previous version. */
  readonly recordedFirst?: boolean;
  /** An operator's cut-off is a change by which isolates discard no record. */
  readonly keepsRecords?: boolean;
  /** Only the user's record refuses a refresh. */
  readonly withoutClientRecord?: boolean;
  /** A copy of a record is kept although a change named it while it was read. */
  readonly keepsLateCopies?: boolean;
}

/** The mutations that the simulation must catch, and the properties that they break. */
export const cutOffMutants: Readonly<Record<string, readonly [Mutation, string]>> = {
  "a session version read after the credentials": [{ sessionVersionLate: true }, "survives"],
  "an unconfirmed session version": [{ unconfirmed: true }, "what is from after the change is revoked"],
  "a grant version read after the decision": [{ grantVersionLate: true }, "survives nb:client"],
  "reads that are not validated": [{ unvalidated: true }, "survives nb:client"],
  "an unconfirmed decision": [{ uncommitted: true }, "what is from after the change is revoked"],
  "a grant version that is not validated": [{ unnoted: true }, "what is from after the change is revoked"],
  "grants that do not rest on their session": [{ withoutSession: true }, "survives nb:sub"],
  "ordering by the newest announced change": [{ byNewest: true }, "what is from after the change is revoked"],
  "a reopened session on the newest change": [{ reopenedByNewest: true }, "survives nb:sub"],
  "shards that replace cut-offs": [{ replaces: true }, "survives"],
  "a record that gets its cut-off after the change": [{ recordedLate: true }, "is refreshed after nb:"],
  "a record that gets its cut-off before the change": [{ recordedFirst: true }, "is refreshed after nb:"],
  "a cut-off by which no record is discarded": [{ keepsRecords: true }, "is refreshed after nb:sub"],
  "a refresh that does not read the client's cut-offs": [{ withoutClientRecord: true }, "is refreshed after nb:client"],
  "a copy that is kept though its record changed": [{ keepsLateCopies: true }, "is refreshed after nb:"],
};

interface Session {
  readonly sub: string;
  readonly version: number;
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
  readonly control: ControlView;
  /** The cut-offs of each shard that it has installed. */
  readonly replicas: readonly Map<string, CutOff>[];
  /** When its cached record of a client was read. */
  readonly clients: Map<string, number>;
  /** Cached records, by kind and id, with their cut-offs. */
  readonly records: Map<string, readonly CutOff[]>;
  /** It has no lease at times, and then does not know the newest changes. */
  readonly isCold: boolean;
}

const users = ["alice", "alice", "alice", "bob"];
const clients = ["app", "api"];
const noContext = {} as RequestContext<never>;

/**
 * **Sign-ins, authorizations and cut-offs in any interleaving.** No clock takes part. The control view, the reads of a decision, the ids of grants
 * and the rule of cut-offs are the real ones; D1, shards and isolates are modelled. A change is acknowledged when every isolate has it (the lease
 * protocol, simulated elsewhere); before that, any of them may lack it. Grants are refreshed for longer than shards have a cut-off: then the records
 * of user and client refuse them (ADR 28).
 */
export class CutOffSimulation {
  readonly #mutation: Mutation;
  readonly #random: () => number;
  readonly #log: NamedChange[] = [];
  readonly #shards: readonly Shard[] = Array.from({ length: 2 }, () => ({ cv: 0, cutOffs: new Map() }));
  readonly #isolates: readonly Isolate[];
  readonly #sessions: Session[] = [];
  readonly #grants: Grant[] = [];
  readonly #changes: Change[] = [];
  /** D1's `cut_offs`. */
  readonly #recorded = new Map<string, CutOff>();
  readonly #refreshes: { readonly grant: Grant; readonly arrivedAt: number }[] = [];
  readonly #ready: (() => void)[] = [];
  readonly #newestFirst: number;
  #now = 0;

  constructor(seed: number, mutation: Mutation) {
    this.#mutation = mutation;
    this.#random = randomFrom(seed);
    this.#isolates = Array.from({ length: 4 }, (_, index) => this.#isolate(index === 3));
    this.#newestFirst = this.#pick([0, 0.5, 0.8, 0.95]);
    this.#append("generations", "*");
  }

  #isolate(isCold: boolean): Isolate {
    const control = new ControlView();
    const isolate: Isolate = {
      control,
      replicas: this.#shards.map(() => new Map()),
      clients: new Map(),
      records: new Map(),
      isCold,
    };
    control.onChange("client", (id) => (id === undefined ? isolate.clients.clear() : isolate.clients.delete(id)));
    for (const kind of ["client", "user"] as const) {
      control.onChange(kind, (id) =>
        id === undefined ? isolate.records.clear() : isolate.records.delete(`${kind}:${id}`),
      );
    }
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
    const operations = [
      () => this.#signIn(),
      () => this.#authorize(),
      () => this.#authorize(),
      () => this.#change(),
      () => this.#refresh(),
      () => this.#refresh(),
    ];
    for (let index = 0; index < 120; index += 1) {
      this.#now += 1;
      start(this.#pick(operations)());
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

  #append(kind: NamedChange["kind"], id: string): number {
    const version = this.#log.length + 1;
    this.#log.push({ version, kind, id });
    return version;
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
    this.#sessions.push({ sub, version: rests, arrivedAt, credentialsAt });
  }

  async #authorize(): Promise<void> {
    if (this.#sessions.length === 0) return;
    const isolate = this.#pick(this.#isolates);
    const session = this.#pick(this.#sessions.slice(-8));
    const clientId = this.#pick(clients);
    const arrivedAt = this.#now;
    const reads = new ReadSet(isolate.control);
    await this.#others();
    // /authorize plans a grant before it reads, other endpoints afterwards.
    const isPlannedFirst = this.#random() < 0.5;
    let planned = isPlannedFirst ? this.#plan(isolate, reads, clientId) : 0;
    await this.#others();
    const { sub, version } = session;
    const sessionSubject = { ...subjectOf("session", sub, "op"), versions: { client: version, user: version } };
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
    if (!isPlannedFirst) planned = this.#plan(isolate, reads, clientId);
    await this.#others();
    if (!(await this.#commit(isolate, reads))) return;
    const client = this.#mutation.grantVersionLate === true ? isolate.control.version! : planned;
    const grantId = newGrantId({ client, user: this.#mutation.withoutSession === true ? client : version });
    const subject = subjectOf(grantId, sub, clientId);
    this.#grants.push({ subject, session, arrivedAt, clientReadAt });
  }

  /** A new password, a disabled client, an operator's revocation, or a change that revokes nothing. */
  async #change(): Promise<void> {
    const what = this.#pick(["password", "client", "operator", "other"] as const);
    const id = what === "client" ? this.#pick(clients) : this.#pick(users);
    const kind = what === "client" ? "client" : what === "operator" ? "cut-off" : "user";
    const committedAt = this.#now;
    const ofKind = what === "client" ? "client" : "sub";
    const key = cutOffKey(ofKind, id);
    if (this.#mutation.recordedFirst === true && what !== "other") this.#record(key, this.#log.length);
    const announced = what === "other" || (kind === "cut-off" && this.#mutation.keepsRecords === true) ? "rbac" : kind;
    const version = this.#append(announced, kind === "cut-off" ? key : id);
    const isRecorded = this.#mutation.recordedFirst === true || this.#mutation.recordedLate === true;
    // Recorded in the transaction of the change.
    if (!isRecorded && what !== "other") this.#record(key, version);
    await this.#others();
    const cv = this.#log.length;
    const cutOff = what === "other" ? undefined : this.#cutOff(ofKind, id, version, cv);
    const reopenedVersion = this.#mutation.reopenedByNewest === true ? cv : version;
    const reopened =
      what === "password"
        ? { sub: id, version: reopenedVersion, arrivedAt: committedAt, credentialsAt: committedAt }
        : undefined;
    const change = cutOff && { cutOff, committedAt, acknowledgedAt: Number.POSITIVE_INFINITY, reopened };
    if (change !== undefined) this.#changes.push(change);
    await Promise.all(this.#shards.map((shard, index) => this.#raise(shard, index, cv, cutOff)));
    if (change !== undefined) change.acknowledgedAt = this.#now;
    if (reopened !== undefined) this.#sessions.push(reopened);
    if (this.#mutation.recordedLate === true && what !== "other") {
      await this.#others();
      this.#record(key, version);
    }
  }

  #record(key: string, version: number): void {
    const cutOff = { key, version, untilMs: 2_000_000_000_000 };
    const known = this.#recorded.get(key);
    this.#recorded.set(key, known === undefined ? cutOff : combineCutOffs(known, cutOff));
  }

  /** Refreshes after the shards have deleted the cut-offs: decided by the records alone, and at one control version, like every decision. */
  async #refresh(): Promise<void> {
    if (this.#grants.length === 0) return;
    const isolate = this.#pick(this.#isolates);
    const grant = this.#pick(this.#grants.slice(-8));
    const arrivedAt = this.#now;
    const reads = new ReadSet(isolate.control);
    const { sub, clientId } = grant.subject;
    const client = await this.#readRecord(isolate, reads, "client", clientId);
    const user = await this.#readRecord(isolate, reads, "user", sub);
    if (!(await this.#commit(isolate, reads))) return;
    const records = this.#mutation.withoutClientRecord === true ? [user] : [user, client];
    const read = records.map((cutOffs) => ({ cutOffs }));
    if (!isCutOffByRecords(grant.subject, read)) this.#refreshes.push({ grant, arrivedAt });
  }

  /** Like `newGrant`: returns the version of a grant. */
  #plan({ control }: Isolate, reads: ReadSet, clientId: string): number {
    if (this.#mutation.unnoted !== true) reads.note("client", clientId);
    return control.version!;
  }

  /** Like `settle`: returns whether the decision stands. */
  async #commit(isolate: Isolate, reads: ReadSet): Promise<boolean> {
    const { uncommitted, unvalidated, grantVersionLate } = this.#mutation;
    if (isolate.isCold && uncommitted !== true) await this.#observe(isolate, this.#pick(this.#shards).cv);
    const stands = unvalidated === true || reads.areCurrent();
    if (grantVersionLate === true) await this.#others();
    return stands;
  }

  /** Like `ReadThrough`: notes the record, then reads the copy, or D1. */
  async #readRecord(
    { control, records }: Isolate,
    reads: ReadSet,
    kind: "client" | "user",
    id: string,
  ): Promise<readonly CutOff[]> {
    reads.note(kind, id);
    const held = records.get(`${kind}:${id}`);
    if (held !== undefined) return held;
    const readAt = control.version;
    await this.#others();
    const found = this.#recorded.get(cutOffKey(kind === "user" ? "sub" : "client", id));
    const cutOffs = found === undefined ? [] : [found];
    await this.#others();
    if (this.#mutation.keepsLateCopies === true || control.isCurrent(kind, id, readAt))
      records.set(`${kind}:${id}`, cutOffs);
    return cutOffs;
  }

  #cutOff(kind: "sub" | "client", id: string, version: number, cv: number): CutOff {
    const order = this.#mutation.byNewest === true ? cv : version;
    return { key: cutOffKey(kind, id), version: order, untilMs: 2_000_000_000_000 };
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
    for (const { grant, arrivedAt } of this.#refreshes) broken.push(...this.#violationsOfRefresh(grant, arrivedAt));
    return broken;
  }

  /** A refresh that arrived after a change was acknowledged is refused if the grant has an earlier version. */
  #violationsOfRefresh({ subject, session, clientReadAt }: Grant, arrivedAt: number): string[] {
    const rests = new Map([
      [cutOffKey("sub", subject.sub), session.credentialsAt],
      [cutOffKey("client", subject.clientId), clientReadAt],
    ]);
    return this.#changes
      .filter(({ reopened }) => reopened === undefined || reopened !== session)
      .filter(({ cutOff, committedAt, acknowledgedAt }) => {
        const restsOn = rests.get(cutOff.key);
        return restsOn !== undefined && restsOn < committedAt && acknowledgedAt < arrivedAt;
      })
      .map(({ cutOff }) => `what rests on before is refreshed after ${cutOff.key}`);
  }

  #violationsOfSession(cutOffs: ReadonlyMap<string, CutOff>, session: Session): string[] {
    const { sub, version } = session;
    const subject = { ...subjectOf("session", sub, "op"), versions: { client: version, user: version } };
    return this.#violationsOf(cutOffs, "sub", subject, { ...session, session });
  }

  /** `credentialsAt`: when its credentials were read. */
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
    // Each cut-off is checked separately, because a later one may hide its fault.
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

function subjectOf(grantId: string, sub: string, clientId: string): RevocationSubject {
  const address = { generation: 1, region: "wnam", shard: 0 };
  return { address, jti: grantId, grantId, sub, clientId, lineage: [] };
}
