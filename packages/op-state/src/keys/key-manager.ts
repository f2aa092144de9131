import { isNumber, isText, objectOf, readStored, type TypeGuard } from "@edge-op/protocol/encoding/stored-json";
import { generateKeyPair } from "@edge-op/protocol/jwt/import-key";
import {
  isEncryptionAlgorithm,
  type KeyAlgorithm,
  keyAlgorithms,
  usualKeyAlgorithms,
} from "@edge-op/protocol/jwt/key-algorithms";
import {
  type KeyManagerRpc,
  type KeySchedule,
  keyManagerName,
  type RotateKeyResult,
  type ScheduledKey,
  signingKey,
} from "@edge-op/shared/keys/key-schedule";
import { rewrapPrivateKey, wrapPrivateKey } from "@edge-op/shared/keys/wrapped-private-key";
import { nowMs } from "@edge-op/shared/runtime/clock";
import type { MasterKeyBindings } from "@edge-op/shared/secrets/master-key";
import { calculateJwkThumbprint } from "jose/jwk/thumbprint";
import { exportJWK } from "jose/key/export";
import { type AuditBindings, AuditOutbox } from "../audit/audit-outbox.ts";
import { AlarmSchedule } from "../wake/alarm-schedule.ts";
import { FactsObject, Fence } from "../wake/state-object.ts";
import { KeyAnnouncement, type KeyAnnouncementBindings } from "./key-announcement.ts";
import {
  findViolations,
  type NewKey,
  planExtension,
  planRevocation,
  planRotation,
  rotationPossibleFromMs,
  type SchedulePlan,
} from "./key-machine.ts";
import { KeyRows } from "./key-rows.ts";

type KeyManagerEnv = MasterKeyBindings & AuditBindings & KeyAnnouncementBindings;

const operationMs = 86_400_000;
/** The alarm repairs a lost alarm and D1's copy of the schedule: this long after the schedule was read, and otherwise once a day. */
const lookAfterUseMs = 3_600_000;
const lookIntervalMs = 86_400_000;

type KeyMaterial = Pick<ScheduledKey, "kid" | "alg" | "publicJwk" | "wrappedPrivateKey">;

interface Decision<Result> {
  readonly plan: SchedulePlan;
  readonly result: Result;
  readonly event: { readonly type: string; readonly payload: Readonly<Record<string, unknown>> };
}

type Decide<Result> = (keys: readonly ScheduledKey[], atMs: number) => Decision<Result>;
type RevokeResult = { readonly kind: "revoked" } | { readonly kind: "unknown" };

/** A change that a retry does not repeat. */
interface Operation<Result> {
  readonly id: string;
  readonly isResult: TypeGuard<Result>;
}

type FullResult = Extract<RotateKeyResult, { kind: "full" }>;
const isFull = objectOf<FullResult>({ kind: (kind): kind is "full" => kind === "full", possibleFromMs: isNumber });
const isRotated = objectOf<Exclude<RotateKeyResult, FullResult>>({ kid: isText, signFromMs: isNumber });
const isRotateResult = (value: unknown): value is RotateKeyResult => isFull(value) || isRotated(value);
const isRevokeResult = objectOf<RevokeResult>({ kind: isText });

/**
 * **Stores the key schedule**, which isolates follow by time (docs/reference/protocols.md §4); key-machine.ts has the rules, key-rows.ts the keys. A
 * kid is its key's thumbprint (RFC 7638), so it never names another key (K3).
 *
 *   key_operations(id, answer, until_ms)     results of rotate and revokeKey, for retries; deleted after a day
 */
export class KeyManager
  extends FactsObject<KeyManagerEnv>
  implements Omit<KeyManagerRpc, keyof Rpc.DurableObjectBranded>
{
  readonly #sql = this.ctx.storage.sql;
  readonly #rows: KeyRows;
  readonly #alarms: AlarmSchedule;
  readonly #outbox: AuditOutbox;
  readonly #fence: Fence;
  readonly #announcement: KeyAnnouncement;
  #isRewrapped = false;

  constructor(ctx: DurableObjectState, env: KeyManagerEnv) {
    super(ctx, env);
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS key_operations (
        id TEXT PRIMARY KEY, answer TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;`);
    this.#rows = new KeyRows(this.#sql);
    this.#alarms = new AlarmSchedule(ctx);
    this.#outbox = new AuditOutbox(ctx, env, keyManagerName, this.#alarms);
    this.#fence = new Fence(this.#sql);
    this.#announcement = new KeyAnnouncement(ctx, env, {
      schedule: () => this.#rows.schedule(),
      announced: () => this.#rows.announced,
      markAnnounced: (schedule, knownFromMs) => {
        this.#rows.markAnnounced(schedule, knownFromMs);
        this.#alarms.wakeBy(knownFromMs);
      },
    });
    // Every copy of the schedule must be wrapped anew before the previous key is deleted.
    if (env.OP_MASTER_KEY_PREVIOUS) this.#alarms.wakeBy(nowMs());
  }

  async schedule(wanted: readonly KeyAlgorithm[] = [], signs = false): Promise<KeySchedule> {
    await this.#rewrap();
    this.#alarms.wakeBy(nowMs() + lookAfterUseMs);
    const algorithms = wanted.filter((alg) => keyAlgorithms.includes(alg));
    await this.#extend(algorithms);
    if (!this.#hasSigners(algorithms)) {
      const announced = this.#announcement.tryAnnounce();
      if (signs) await announced;
      else this.ctx.waitUntil(announced);
    }
    this.#fence.pass();
    // Isolates read D1: whoever calls found no schedule there, or lacks keys that it does not have yet.
    this.#alarms.wakeBy(nowMs());
    return this.#rows.schedule();
  }

  #hasSigners(wanted: readonly KeyAlgorithm[]): boolean {
    const schedule = this.#rows.schedule();
    return [...usualKeyAlgorithms, ...wanted].every((alg) => signingKey(schedule, alg, nowMs()) !== undefined);
  }

  async rotate(alg: KeyAlgorithm, operationId: string): Promise<RotateKeyResult> {
    await this.#extend([alg]);
    const operation = { id: operationId, isResult: isRotateResult };
    const rotated = await this.#change<RotateKeyResult>(operation, (keys, atMs) => {
      const possibleFromMs = rotationPossibleFromMs(keys, atMs);
      if (possibleFromMs !== undefined) {
        const event = { type: "keys.rotated", payload: {} };
        return { plan: { keep: keys, make: [] }, result: { kind: "full", possibleFromMs }, event };
      }
      const { successor, ...plan } = planRotation(keys, alg, atMs);
      const result = { kid: successor.kid, signFromMs: successor.signFromMs };
      return { plan, result, event: { type: "keys.rotated", payload: { alg, operationId, ...result } } };
    });
    await this.#announcement.announce();
    return rotated;
  }

  async revokeKey(kid: string, operationId: string): Promise<RevokeResult> {
    await this.#extend();
    const operation = { id: operationId, isResult: isRevokeResult };
    const revoked = await this.#change<RevokeResult>(operation, (keys, atMs) => {
      const revoked = keys.find((key) => key.kid === kid);
      return {
        plan: planRevocation(keys, kid, atMs),
        result: { kind: revoked === undefined ? "unknown" : "revoked" },
        event: { type: "keys.revoked", payload: { kid, alg: revoked?.alg, operationId } },
      };
    });
    await this.#announcement.announce();
    return revoked;
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    await this.#alarms.run(
      [
        async (atMs, passedMs) => {
          await this.#rewrap();
          await this.#extend();
          this.#sql.exec("DELETE FROM key_operations WHERE until_ms <= ?", passedMs);
          return nextLookMs(this.#rows.all(), atMs);
        },
        async () => {
          await this.#announcement.announce();
          await this.#announcement.store();
          return this.#rows.nextKnownMs();
        },
        (atMs) => this.#outbox.flush(atMs),
      ],
      info,
    );
  }

  async #extend(wanted: readonly KeyAlgorithm[] = []): Promise<void> {
    await this.#change(undefined, (keys, atMs) => ({
      plan: planExtension(keys, atMs, wanted),
      result: undefined,
      event: { type: "keys.extended", payload: {} },
    }));
  }

  /** Keys are generated before the transaction, because that needs I/O; the decision is repeated inside it. */
  async #change<Result>(operation: Operation<Result> | undefined, decide: Decide<Result>): Promise<Result> {
    for (;;) {
      const wanted = decide(this.#rows.all(), nowMs()).plan.make;
      const material = await Promise.all(wanted.map(({ alg }) => this.#makeKey(alg)));
      const done = this.ctx.storage.transactionSync(() => this.#commit(operation, decide, material));
      if (done !== undefined) return done.result;
    }
  }

  /** Returns `undefined` if the schedule has changed meanwhile and needs other keys than those generated. */
  #commit<Result>(
    operation: Operation<Result> | undefined,
    decide: Decide<Result>,
    material: readonly KeyMaterial[],
  ): { readonly result: Result } | undefined {
    const earlier = operation && this.#earlierResult(operation);
    if (earlier !== undefined) return earlier;
    const atMs = nowMs();
    const before = this.#rows.all();
    const { plan, result, event } = decide(before, atMs);
    if (isUnchanged(plan, before)) return { result };
    const made = assign(plan.make, material);
    if (made === undefined) return undefined;
    const after = [...plan.keep, ...made];
    const violations = findViolations(after);
    if (violations.length > 0) throw new Error(`a key schedule was refused: ${violations.join("; ")}`);
    this.#rows.write(after, before);
    this.#outbox.append({ type: event.type, payload: { ...event.payload, made: made.map(({ kid }) => kid) } }, atMs);
    if (operation !== undefined) {
      this.#sql.exec(
        "INSERT INTO key_operations (id, answer, until_ms) VALUES (?, ?, ?)",
        operation.id,
        JSON.stringify(result),
        atMs + operationMs,
      );
    }
    this.#alarms.wakeBy(atMs);
    return { result };
  }

  #earlierResult<Result>({ id, isResult }: Operation<Result>): { readonly result: Result } | undefined {
    const [row] = this.#sql.exec<{ answer: string }>("SELECT answer FROM key_operations WHERE id = ?", id).toArray();
    return row === undefined ? undefined : { result: readStored("result of an operation", row.answer, isResult) };
  }

  async #makeKey(alg: KeyAlgorithm): Promise<KeyMaterial> {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    const jwk = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    const use = isEncryptionAlgorithm(alg) ? "enc" : "sig";
    const wrappedPrivateKey = await wrapPrivateKey(this.env, kid, alg, privateKey);
    return { kid, alg, publicJwk: { ...jwk, alg, use, kid } as JsonWebKey, wrappedPrivateKey };
  }

  /** Wraps every key under the current master key, once per instance, because a change of secrets starts a new one; the alarm announces it. */
  async #rewrap(): Promise<void> {
    if (this.#isRewrapped) return;
    this.#isRewrapped = true;
    const keys = await Promise.all(
      this.#rows.all().map(async ({ kid, alg, wrappedPrivateKey }) => {
        const rewrapped = await rewrapPrivateKey(this.env, kid, alg, wrappedPrivateKey);
        return rewrapped === undefined ? [] : [{ kid, wrappedPrivateKey, rewrapped }];
      }),
    );
    if (this.#rows.rewrap(keys.flat())) this.#alarms.wakeBy(nowMs());
  }
}

/** Plans keep unchanged objects. */
function isUnchanged(plan: SchedulePlan, before: readonly ScheduledKey[]): boolean {
  return plan.make.length === 0 && plan.keep.length === before.length && plan.keep.every((key) => before.includes(key));
}

/** Assigns a generated key to each planned one; `undefined` if an algorithm has too few. */
function assign(planned: readonly NewKey[], material: readonly KeyMaterial[]): ScheduledKey[] | undefined {
  const left = [...material];
  const made: ScheduledKey[] = [];
  for (const times of planned) {
    const index = left.findIndex(({ alg }) => alg === times.alg);
    if (index < 0) return undefined;
    made.push({ ...times, ...left.splice(index, 1)[0]! });
  }
  return made;
}

/** The next event: when a key begins to sign, its successor is generated; when one retires, it is removed. */
function nextLookMs(keys: readonly ScheduledKey[], atMs: number): number {
  const events = keys.flatMap(({ signFromMs, retireAtMs }) => [signFromMs, retireAtMs]).filter((at) => at > atMs);
  return Math.min(...events, atMs + lookIntervalMs);
}
