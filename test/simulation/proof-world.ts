import { ProofLedger } from "../../packages/op-state/src/challenges/proof-ledger.ts";
import type { DurableProofs } from "../../packages/op-state/src/challenges/proof-machine.ts";
import { findProofFault, proofLife } from "../../packages/protocol/src/dpop/proof-claims.ts";
import { ageOf, lifeOf, type ProofNonce } from "../../packages/shared/src/callers/proof-nonces.ts";
import { randomFrom } from "./simulated-time.ts";

/** A proof as its holder, or whoever has seen it, sends it any number of times. */
interface Proof {
  readonly key: string;
  readonly iat: number;
  readonly nonce: ProofNonce | undefined;
  readonly acceptedBy: Set<string>;
}

interface Instance {
  /** How far its clock is from real time. */
  readonly offsetMs: number;
  readonly ledger: ProofLedger;
  /** A superseded instance does not know it before it writes. */
  isCurrent: boolean;
}

interface Shard {
  row: DurableProofs | undefined;
  current: Instance | undefined;
  superseded: Instance[];
  lostAtMs: number;
  starts: number;
}

type Response = "accepted" | "refused" | "failed" | { readonly newer: ProofNonce };

/** An hour after the epoch, so that no time is 0. */
const beginMs = 3_600_000;
const endMs = beginMs + 20 * 60_000;
const shardCount = 2;
/** An instance that was lost may have written its hold just now; fence, tolerances, skew of the clocks and of the client follow. */
const settledMs = 30_000 + 60_000 + 30_000 + 2 * 58_000 + 10_000;

export interface ProofCounts {
  accepted: number;
  refusals: number;
  retries: number;
  losses: number;
  saves: number;
  superseded: number;
}

/**
 * **Workers that spend DPoP proofs in two shards, under faults**: clocks that differ by up to 58 s, calls that take up to 6 s, are lost, and are sent
 * again; instances that end saved or unsaved, several in a row, before or after a write is durable; superseded ones that continue to respond, for any
 * time. Senders are honest clients, which repeat a request once with the nonce that they were given, and others, who send each proof that they have
 * seen or made in advance again, at any Worker and time. The classes and rules are the product's; the world delivers.
 */
export class ProofWorld {
  readonly violations: string[] = [];
  readonly counts: ProofCounts = { accepted: 0, refusals: 0, retries: 0, losses: 0, saves: 0, superseded: 0 };
  readonly #random: () => number;
  /** Their clocks. */
  readonly #workers: readonly number[];
  readonly #shards: readonly Shard[];
  readonly #proofs: Proof[] = [];
  readonly #events: { readonly atMs: number; readonly run: () => void }[] = [];
  #nowMs = beginMs;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    this.#workers = Array.from({ length: 4 }, () => this.#offset());
    this.#shards = Array.from({ length: shardCount }, () => ({
      ...{ row: undefined, current: undefined, superseded: [], lostAtMs: 0, starts: 0 },
    }));
  }

  run(): void {
    for (let client = 0; client < 3; client += 1) this.#honest(client, undefined, 0);
    this.#every(400, () => this.#attack());
    this.#every(700, () => this.#close());
    this.#every(15_000, () => this.#fault());
    for (;;) {
      const next = this.#events.reduce<number>(
        (first, { atMs }, index) => (first < 0 || atMs < this.#events[first]!.atMs ? index : first),
        -1,
      );
      if (next < 0) break;
      const [event] = this.#events.splice(next, 1);
      if (event!.atMs > endMs) break;
      this.#nowMs = event!.atMs;
      event!.run();
    }
    for (const { key, acceptedBy } of this.#proofs) {
      if (acceptedBy.size > 1) this.violations.push(`P1: ${key} was accepted ${acceptedBy.size} times`);
    }
  }

  /** Sends proofs, sometimes after a pause in which memories are saved. A refusal by a nonce is followed by one retry, with a new proof. */
  #honest(client: number, nonce: ProofNonce | undefined, retries: number): void {
    const pauseMs = this.#random() < 0.2 ? 25_000 : this.#random() < 0.02 ? 240_000 : 1_500;
    this.#later(retries > 0 ? 20 : this.#random() * pauseMs, () => {
      const isOne = () => this.#shards.every(({ superseded }) => superseded.length === 0);
      const starts = this.#shards.map((shard) => shard.starts).join() + isOne();
      const proof = this.#make(this.#nowMs + (client - 1) * 5_000, nonce);
      this.#send(proof, (response) => {
        const given = typeof response === "object" ? response.newer : nonce;
        if (response === "accepted") this.counts.accepted += 1;
        if (typeof response !== "object") return this.#honest(client, given, 0);
        this.counts.retries += 1;
        const begun = this.#shards.map((shard) => shard.starts).join() + isOne() !== starts;
        const isSettled = this.#shards.every(({ lostAtMs }) => this.#nowMs - lostAtMs > settledMs);
        if (retries > 0 && !begun) this.violations.push("P3: a retry was refused, and no other instance was there");
        if (isSettled && isOne() && nonce === undefined)
          this.violations.push("P3: a nonce was demanded long after the last loss");
        this.#honest(client, given, begun || !isOne() ? 0 : retries + 1);
      });
    });
  }

  /** Sends an earlier proof again, mostly a young one, or several at once of one that was made for another time. */
  #attack(): void {
    const known = this.#proofs.slice(-60);
    const isOwn = this.#random() < 0.3 || known.length === 0;
    const extremes = [-290, -58, -30, 0, 29, 58, 290];
    const nonces = known.map(({ nonce }) => nonce);
    const proof = isOwn
      ? this.#make(this.#nowMs + this.#pick(extremes) * 1_000, this.#pick([undefined, ...nonces]))
      : this.#pick(known);
    for (let copies = 0; copies < 3; copies += 1) {
      const delayMs = this.#pick([0, 10, 5_000, 30_000, 60_000, 90_000, 120_000]) * (0.8 + 0.4 * this.#random());
      this.#later(delayMs, () => this.#send(proof, () => undefined));
    }
  }

  #make(atMs: number, nonce: ProofNonce | undefined): Proof {
    // The end of the key is what the table keeps of the hash.
    const hash = Array.from({ length: 11 }, () => "ABCDEFGHabcdefgh0123"[Math.floor(this.#random() * 20)]).join("");
    const proof = { key: `s:dpop:${hash}`, iat: Math.floor(atMs / 1_000), nonce, acceptedBy: new Set<string>() };
    this.#proofs.push(proof);
    return proof;
  }

  /** What an endpoint does with a proof (callers/read-proof.ts): its age by the Worker's clock, then a call of the shard. */
  #send(proof: Proof, respond: (response: Response) => void): void {
    const atMs = read(this.#pick(this.#workers), this.#nowMs);
    const { nonce, iat, key } = proof;
    const age = nonce && ageOf(nonce, atMs);
    const step = Math.floor(atMs / 60_000);
    if (age === "early") {
      respond({ newer: { step } });
      return;
    }
    const claims = { jti: key, htm: "POST", htu: "https://op.example/token", iat };
    const hasNonce = nonce !== undefined && age !== "expired";
    const target = { method: "POST", uris: [claims.htu], accessTokenHash: undefined, hasNonce, atMs };
    if (findProofFault(claims, target) !== undefined) {
      respond("refused");
      return;
    }
    const life = proofLife(iat, nonce && lifeOf(nonce));
    const operationId = `${this.#hex()}-${this.#hex()}`;
    const shard = nonce?.place?.address.shard ?? key.charCodeAt(key.length - 1) % shardCount;
    const attempt = (attempts: number) =>
      this.#later(this.#random() < 0.1 ? this.#random() * 6_000 : 5, () => {
        const result = this.#call(this.#shards[shard]!, (instance, atShardMs) =>
          instance.ledger.spend({ key, operationId, ...life, boot: nonce?.place?.boot }, atShardMs),
        );
        // The response is lost, and the call is sent again, or the request fails.
        if (result === undefined || this.#random() < 0.03) {
          if (attempts < 2 && this.#random() < 0.7) attempt(attempts + 1);
          else respond("failed");
        } else if (typeof result === "string") {
          const address = { generation: 1, region: "wnam", shard };
          respond({ newer: { step, place: { address, boot: result } } });
        } else {
          if (result) proof.acceptedBy.add(operationId);
          else this.counts.refusals += 1;
          respond(result ? "accepted" : "refused");
        }
      });
    attempt(0);
  }

  /** `undefined`: no response. */
  #call<T>(shard: Shard, run: (instance: Instance, atMs: number) => T): T | undefined {
    const stale = shard.superseded.length > 0 && this.#random() < 0.3 ? this.#pick(shard.superseded) : undefined;
    const instance = stale ?? shard.current ?? this.#start(shard);
    if (stale !== undefined) this.counts.superseded += 1;
    try {
      return run(instance, read(instance.offsetMs, this.#nowMs));
    } catch {
      this.#lose(shard, instance);
      return undefined;
    }
  }

  #start(shard: Shard): Instance {
    const instance: Instance = {
      offsetMs: this.#offset(),
      isCurrent: true,
      ledger: new ProofLedger({
        read: () => shard.row,
        write: (proofs) => {
          // The platform notices now that the instance was superseded, or the instance ends before its write is durable.
          if (!instance.isCurrent || this.#random() < 0.02) throw new Error("the write failed");
          shard.row = proofs;
        },
      }),
    };
    shard.current = instance;
    shard.starts += 1;
    return instance;
  }

  #lose(shard: Shard, instance: Instance): void {
    shard.superseded = shard.superseded.filter((other) => other !== instance);
    if (shard.current !== instance) return;
    shard.current = undefined;
    if (shard.row?.heldUntilMs === null) return;
    shard.lostAtMs = this.#nowMs;
    this.counts.losses += 1;
  }

  /** The timers of the instances. A saved one may be evicted. */
  #close(): void {
    for (const shard of this.#shards) {
      for (const instance of [shard.current, ...shard.superseded]) {
        if (instance === undefined) continue;
        try {
          instance.ledger.close(read(instance.offsetMs, this.#nowMs));
        } catch {
          this.#lose(shard, instance);
        }
      }
      if (shard.row?.heldUntilMs === null && this.#random() < 0.5) {
        this.counts.saves += 1;
        shard.current = undefined;
      }
    }
  }

  /** An instance ends, or is superseded and continues; sometimes its successors do at once. */
  #fault(): void {
    if (this.#random() < 0.7) return;
    const shard = this.#pick(this.#shards);
    for (let times = this.#random() < 0.3 ? 3 : 1; times > 0; times -= 1) {
      const instance = shard.current ?? this.#start(shard);
      this.#lose(shard, instance);
      if (this.#random() < 0.5) {
        instance.isCurrent = false;
        shard.superseded = [...shard.superseded, instance].slice(-3);
      }
      if (this.#random() < 0.5) this.#start(shard);
    }
  }

  #every(meanMs: number, run: () => void): void {
    this.#later(2 * meanMs * this.#random(), () => {
      run();
      this.#every(meanMs, run);
    });
  }

  #later(delayMs: number, run: () => void): void {
    this.#events.push({ atMs: this.#nowMs + delayMs, run });
  }

  #offset(): number {
    return this.#pick([-29_000, -29_000, 0, 29_000, 29_000]);
  }

  #hex(): string {
    return Math.floor(this.#random() * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)]!;
  }
}

function read(offsetMs: number, nowMs: number): number {
  return Math.floor(nowMs + offsetMs);
}
