import { vi } from "vitest";
import { MailSender, type MailSenderEnv } from "../../packages/op-state/src/mail/mail-sender.ts";
import type { PreparedNotice } from "../../packages/shared/src/mail/mail-sender-rpc.ts";
import { randomFrom } from "./simulated-time.ts";
import { Sqlite, sqlKind } from "./sqlite.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.parse("2030-01-01T00:00:00Z");
const mostSteps = 2_000;

interface Change {
  readonly id: string;
  readonly sub: string;
  committedAtMs: number | undefined;
}

interface Attempt {
  readonly key: string;
  readonly to: string;
  readonly atMs: number;
  /** The object has received the acceptance. */
  isAnswered: boolean;
  isAccepted: boolean;
  /** The earliest time at which the provider wants to see it again. */
  readonly notBeforeMs: number;
}

interface Planned {
  readonly atMs: number;
  run(): Promise<void> | void;
}

type Statement = { readonly sql: string; readonly values: readonly unknown[] };

/**
 * **One history of the outbox of mails**: the product's `MailSender` on SQLite, with the platform's alarm, a D1 with the tables that it reads, and
 * Resend's API as its network. Everything follows from the seed. An instance that ends takes with it whatever waits for the network.
 */
export class MailWorld {
  readonly changes: Change[] = [];
  readonly attempts: Attempt[] = [];
  readonly prepared = new Set<string>();
  readonly #random: () => number;
  readonly #sqlite = new Sqlite();
  readonly #database = new Sqlite();
  readonly #plan: Planned[] = [];
  readonly #isFlood: boolean;
  readonly #downUntilMs: number;
  readonly #downFromMs: number;
  #alarmMs: number | undefined;
  #object!: MailSender;
  #instance = { isOver: false };
  #pending: Promise<unknown>[] = [];
  #end = Promise.withResolvers<void>();
  steps = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    this.#database.script(`
      CREATE TABLE admin_events (at_ms INTEGER, action TEXT, target TEXT, request_id TEXT);
      CREATE TABLE branding (id TEXT PRIMARY KEY, document TEXT);
      CREATE TABLE users (sub TEXT PRIMARY KEY, claims TEXT);
      CREATE TABLE user_addresses (address_key TEXT PRIMARY KEY, sub TEXT, address TEXT, verified_at_ms INTEGER, held_until_ms INTEGER);`);
    this.#isFlood = this.#chance(0.2);
    this.#downFromMs = start + this.#below(20 * minute);
    this.#downUntilMs = this.#downFromMs + (this.#chance(0.15) ? 30 * hour : this.#below(4 * hour));
  }

  /** Whether the provider was away for so long that mails may have ended. */
  get isLongOutage(): boolean {
    return this.#downUntilMs - this.#downFromMs >= 20 * hour;
  }

  get rowsLeft(): number {
    return Number(this.#sqlite.run({ sql: "SELECT count(*) AS n FROM mails", values: [] }).rows[0]!["n"]);
  }

  async run(): Promise<void> {
    vi.setSystemTime(start);
    const { fetch } = globalThis;
    globalThis.fetch = (_, init) => this.#accept(init!);
    try {
      this.#restart();
      const count = 3 + Math.floor(this.#below(6));
      for (let index = 0; index < count; index += 1) this.#planChange(index);
      for (let index = 0; index < 3; index += 1) {
        this.#at(start + this.#below(3 * hour), () => this.#restart());
      }
      while (this.steps < mostSteps && (await this.#step())) this.steps += 1;
    } finally {
      globalThis.fetch = fetch;
    }
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #below(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  #at(atMs: number, run: Planned["run"]): void {
    this.#plan.push({ atMs, run });
  }

  /** A Worker prepares, commits and releases; it may end before each. */
  #planChange(index: number): void {
    const sub = this.#isFlood ? "flooded" : `person-${index}`;
    const id = `request-${index}.passkey-added`;
    const change: Change = { id, sub, committedAtMs: undefined };
    this.changes.push(change);
    const claims = JSON.stringify({ locale: "de" });
    const email = `${sub}@example.com`;
    this.#database.run({ sql: "INSERT OR REPLACE INTO users VALUES (?, ?)", values: [sub, claims] });
    const sql = "INSERT OR REPLACE INTO user_addresses (address_key, sub, address) VALUES (?, ?, ?)";
    this.#database.run({ sql, values: [email, sub, email] });
    const atMs = start + this.#below(this.#isFlood ? 5 * minute : 2 * hour);
    const evidence = { action: "passkey.added", target: `credential-${index}`, requestId: `request-${index}` };
    const notice: PreparedNotice = { id, sub, kind: "passkey-added", atMs, evidence };
    this.#at(atMs, async () => void (await this.#object.prepare(notice)));
    if (this.#chance(0.1)) this.#at(atMs + this.#below(second), async () => void (await this.#object.prepare(notice)));
    if (this.#chance(0.2)) return;
    const committedAtMs = atMs + second + this.#below(this.#chance(0.3) ? 2 * minute : second);
    this.#at(committedAtMs, () => this.#commit(change, evidence, committedAtMs));
    if (this.#chance(0.3)) return;
    for (let release = 0; release < (this.#chance(0.2) ? 2 : 1); release += 1) {
      this.#at(committedAtMs + this.#below(this.#chance(0.8) ? second : 5 * minute), () => this.#object.release(id));
    }
  }

  #commit(change: Change, { action, target, requestId }: PreparedNotice["evidence"], atMs: number): void {
    const values = [atMs, action, target, requestId];
    this.#database.run({ sql: "INSERT INTO admin_events VALUES (?, ?, ?, ?)", values });
    change.committedAtMs = atMs;
  }

  /** The next planned action or alarm; false if there is none. */
  async #step(): Promise<boolean> {
    const [next] = this.#plan.toSorted((left, right) => left.atMs - right.atMs);
    if (this.#alarmMs !== undefined && this.#alarmMs <= (next?.atMs ?? Number.POSITIVE_INFINITY)) {
      const scheduledTime = Math.max(this.#alarmMs, Date.now());
      this.#alarmMs = undefined;
      vi.setSystemTime(scheduledTime);
      await this.#settle(this.#object.alarm({ scheduledTime, isRetry: false, retryCount: 0 }));
      return true;
    }
    if (next === undefined) return false;
    this.#plan.splice(this.#plan.indexOf(next), 1);
    vi.setSystemTime(Math.max(next.atMs, Date.now()));
    await this.#settle(Promise.resolve(next.run()));
    return true;
  }

  /** Waits until nothing is under way, or the instance has ended. */
  async #settle(first: Promise<unknown>): Promise<void> {
    this.#pending.push(first);
    while (this.#pending.length > 0) {
      const pending = this.#pending;
      this.#pending = [];
      await Promise.race([Promise.all(pending), this.#end.promise]);
      if (this.#instance.isOver) this.#restart();
    }
  }

  #restart(): void {
    this.#instance.isOver = true;
    this.#instance = { isOver: false };
    this.#end = Promise.withResolvers();
    this.#pending = [];
    const env: object = {
      ISSUER: "https://op.example.com",
      OP_MASTER_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
      MAIL_PROVIDER: "resend",
      MAIL_FROM: "no-reply@example.com",
      RESEND_API_KEY: "key",
      DB: { prepare: (sql: string) => this.#statement({ sql, values: [] }) },
    };
    this.#object = new MailSender(this.#state(), env as MailSenderEnv);
  }

  #statement(statement: Statement): object {
    return {
      bind: (...values: unknown[]) => this.#statement({ ...statement, values }),
      first: async () => {
        if (this.#chance(0.15)) throw new Error("D1 does not respond");
        return this.#database.run(statement).rows[0] ?? null;
      },
    };
  }

  #state(): DurableObjectState {
    const instance = this.#instance;
    const exec = (sql: string, ...values: unknown[]) => {
      if (instance.isOver) throw new Error("this instance has ended");
      if (sqlKind(sql) === "script") this.#sqlite.script(sql);
      const { rows } = sqlKind(sql) === "script" ? { rows: [] } : this.#sqlite.run({ sql, values });
      return { toArray: () => [...rows], one: () => rows[0] };
    };
    const storage = {
      sql: { exec, databaseSize: 0 },
      transactionSync: <T>(run: () => T) => this.#sqlite.transaction(run),
      getAlarm: async () => this.#alarmMs ?? null,
      setAlarm: async (atMs: number) => {
        this.#alarmMs = atMs;
      },
    };
    return Object.assign(Object.create(null), {
      id: { name: "mail", toString: () => "mail" },
      storage,
      waitUntil: (promise: Promise<unknown>) => void (instance.isOver || this.#pending.push(promise)),
      blockConcurrencyWhile: (run: () => Promise<unknown>) => void this.#pending.push(run()),
    });
  }

  /** Resend. */
  async #accept({ headers, body }: RequestInit): Promise<Response> {
    const atMs = Date.now();
    const key = new Headers(headers).get("idempotency-key")!;
    const { to } = JSON.parse(String(body)) as { readonly to: readonly string[] };
    const attempt: Attempt = { key, to: to[0]!, atMs, isAnswered: false, isAccepted: false, notBeforeMs: atMs };
    if (atMs >= this.#downFromMs && atMs < this.#downUntilMs) {
      this.attempts.push(attempt);
      if (this.#chance(0.5)) throw new TypeError("no connection");
      return Response.json({ name: "application_error" }, { status: 503 });
    }
    if (this.#chance(0.2)) {
      this.attempts.push({ ...attempt, notBeforeMs: atMs + 300 * second });
      return Response.json({ name: "rate_limit_exceeded" }, { status: 429, headers: { "retry-after": "300" } });
    }
    attempt.isAccepted = true;
    this.attempts.push(attempt);
    if (this.#chance(0.1)) throw new TypeError("the response is lost");
    if (this.#chance(0.1)) {
      this.#instance.isOver = true;
      this.#end.resolve();
      return new Promise(() => undefined);
    }
    attempt.isAnswered = true;
    return Response.json({ id: key });
  }
}

/** Every rule that a history has broken. */
export function findMailViolations(world: MailWorld): string[] {
  return [
    ...(world.steps < mostSteps ? [] : ["the object never comes to rest"]),
    ...(world.rowsLeft === 0 ? [] : [`${world.rowsLeft} mails are left`]),
    ...world.changes.flatMap((change) => ofChange(change, world)),
    ...(isFlooded(world.attempts) ? ["a person gets more mails than the limit"] : []),
  ];
}

function ofChange({ id, committedAtMs }: Change, { attempts, isLongOutage }: MailWorld): string[] {
  const own = attempts.filter(({ key }) => key.startsWith(`${id}.`));
  const found: string[] = [];
  if (new Set(own.map(({ key }) => key)).size > 1) found.push(`${id} is sent as several mails`);
  if (own.some(({ atMs }) => committedAtMs === undefined || atMs < committedAtMs)) {
    found.push(`${id} is sent without its change`);
  }
  if (committedAtMs !== undefined && !isLongOutage && !own.some(({ isAccepted }) => isAccepted)) {
    found.push(`${id} is never accepted`);
  }
  own.forEach(({ atMs }, index) => {
    const before = own[index - 1];
    if (before === undefined) return;
    if (before.isAnswered) found.push(`${id} is sent again although it was accepted`);
    // A restart knows nothing of an attempt that was under way.
    else if (!before.isAccepted && atMs < before.notBeforeMs + (before.notBeforeMs === before.atMs ? 10 * second : 0)) {
      found.push(`${id} is repeated too early`);
    }
    if (committedAtMs !== undefined && atMs > committedAtMs + 25 * hour) found.push(`${id} is sent after its end`);
  });
  return found;
}

/** Three at once, then one in five minutes; in any quarter of an hour six. Repeated attempts of one mail count once. */
function isFlooded(attempts: readonly Attempt[]): boolean {
  const firstOf = new Map<string, Attempt>();
  for (const attempt of attempts) if (!firstOf.has(attempt.key)) firstOf.set(attempt.key, attempt);
  const firsts = [...firstOf.values()];
  return firsts.some(
    ({ to, atMs }) =>
      firsts.filter((other) => other.to === to && other.atMs >= atMs && other.atMs < atMs + 4 * minute).length > 3,
  );
}
