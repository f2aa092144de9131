/**
 * **R: a recovery by mail alone is used by the mailbox that asked for it, a day later, once, and by nobody after a stop** (address-recovery.ts).
 * Random histories of people who ask, stop, sign in and use it, each of whom reads first and writes later, run the deployed statements on D1 beside a
 * model of the rule; each mutant changes one condition of them.
 */

import { saveUserSession } from "@edge-op/shared/sessions/user-sessions";
import { describe, expect, it } from "vitest";
import { whileRecoverable } from "../src/addresses/find-by-address.ts";
import {
  askForRecovery,
  findRecovery,
  type OfAddress,
  stateOf,
  stopRecovery,
  useRecovery,
  whileUsable,
} from "../src/session/address-recovery.ts";
import { authEnv, useDeployment } from "./fixtures/auth-fixtures.ts";

const { DB } = authEnv;
useDeployment();

const sub = "alice";
const day = 86_400_000;
const week = 7 * day;
const startMs = 1_800_000_000_000;
const keys = ["alice@example.com", "alice@example.org", "new@example.net"] as const;
const noFactors = {
  ...{ totp: false, recoveryCodes: false, passkeys: true, password: false, providers: [], epoch: 0 },
};

/** A random number generator with a seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

interface Mutant {
  readonly from: string;
  readonly to: string;
}

function mutated({ from, to }: Mutant, met: () => void): D1Database {
  return new Proxy(DB, {
    get(target, name) {
      if (name === "prepare") {
        return (sql: string) => {
          if (sql.includes(from)) met();
          return target.prepare(sql.replaceAll(from, () => to));
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** What the rule says of the one recovery. */
interface Ruled {
  readonly id: string;
  readonly key: string;
  readonly askedAtMs: number;
  stoppedAtMs?: number;
}

interface Address {
  readonly verifiedAtMs: number;
  isHeld: boolean;
}

/** **One history.** Returns how the statements differ from the rule; `undefined` if they do not. */
async function differs(seed: number, database: D1Database): Promise<string | undefined> {
  const random = randomOf(seed);
  let nowMs = startMs;
  let ruled: Ruled | undefined;
  let isActive = true;
  const addresses = new Map<string, Address>();
  const reads: OfAddress[] = [];
  const ids: string[] = [];
  await DB.batch([
    DB.prepare("DELETE FROM account_recoveries"),
    DB.prepare("DELETE FROM user_addresses"),
    DB.prepare("DELETE FROM user_sessions"),
    DB.prepare("UPDATE users SET status = 'active' WHERE sub = ?1").bind(sub),
  ]);
  const ages = [20 * day, 10 * day, random(2) === 0 ? day : 8 * day];
  for (const [index, key] of keys.entries()) {
    const verifiedAtMs = startMs - ages[index]!;
    addresses.set(key, { verifiedAtMs, isHeld: false });
    const insert = "INSERT INTO user_addresses (address_key, sub, verified_at_ms) VALUES (?1, ?2, ?3)";
    await DB.prepare(insert).bind(key, sub, verifiedAtMs).run();
  }

  const stateNow = () => {
    if (ruled === undefined) return "none";
    if (ruled.stoppedAtMs !== undefined) return nowMs < ruled.stoppedAtMs + week ? "stopped" : "none";
    if (nowMs >= ruled.askedAtMs + 8 * day) return "none";
    return nowMs < ruled.askedAtMs + day ? "waiting" : "usable";
  };
  const isRunning = () => ["waiting", "usable"].includes(stateNow());
  const mayAsk = (key: string) => {
    const { verifiedAtMs, isHeld } = addresses.get(key)!;
    const isOldest = [...addresses.values()].every((other) => other.verifiedAtMs >= verifiedAtMs);
    return isActive && !isHeld && (verifiedAtMs <= nowMs - week || isOldest);
  };

  const actions: readonly (() => Promise<string | undefined>)[] = [
    async function ask() {
      const key = keys[random(3)]!;
      const id = `recovery-${ids.length}`;
      const result = await askForRecovery(database, { sub, id, key, atMs: nowMs }).run();
      const expected = stateNow() === "none" && mayAsk(key);
      if (expected) {
        ids.push(id);
        ruled = { id, key, askedAtMs: nowMs };
      }
      return result.meta.changes > 0 === expected ? undefined : `ask by ${key} in ${stateNow()}: not ${expected}`;
    },
    async function stopByLink() {
      const id = ids[random(ids.length + 1)];
      if (id === undefined) return undefined;
      const result = await stopRecovery(database, { sub, id, atMs: nowMs }).run();
      return stopped(result.meta.changes, ruled?.id === id && isRunning(), "link");
    },
    async function stopBySession() {
      const isListed = random(2) === 0;
      const session = { sid: "s", device: "d", signedInAtMs: nowMs, endsAtMs: nowMs + day };
      if (isListed) await saveUserSession(DB, sub, session, 0);
      else await DB.prepare("DELETE FROM user_sessions").run();
      const result = await stopRecovery(database, { sub, sid: "s", atMs: nowMs }).run();
      return stopped(result.meta.changes, isListed && isRunning(), "session");
    },
    async function signIn() {
      const session = { sid: "n", device: "d", signedInAtMs: nowMs, endsAtMs: nowMs + day };
      const stop = stopRecovery(database, { sub, sid: "n", atMs: nowMs });
      const { hasChanged } = await saveUserSession(DB, sub, session, 0, {}, stop);
      return stopped(hasChanged ? 1 : 0, isRunning(), "sign-in");
    },
    // A flow reads, and writes when others have written.
    async function read() {
      const found = await findRecovery(database, sub);
      // The clock of an isolate may be ahead.
      const clockMs = random(2) === 0 ? nowMs + day : nowMs;
      if (found !== undefined && stateOf(found, clockMs) === "usable") reads.push({ ...found, sub, atMs: nowMs });
      return undefined;
    },
    async function use() {
      const read = random(4) === 0 ? reads[random(reads.length)] : reads.at(-1);
      if (read === undefined) return undefined;
      // The mailbox that the flow has proven.
      const key = random(3) === 0 ? keys[random(3)]! : read.key;
      const proof = { method: "mailedCode", sub, credential: key } as const;
      const guards = [
        whileRecoverable(DB, proof, { factors: noFactors, temporaryHash: undefined }, nowMs),
        whileUsable(database, { ...read, key, atMs: nowMs }),
      ];
      const statements = [...guards.map(({ statement }) => statement), ...useRecovery(database, sub)];
      const isUsed = await DB.batch(statements).then(
        () => true,
        () => false,
      );
      const isTheirs = ruled?.id === read.id && ruled.key === key && !addresses.get(key)!.isHeld;
      const expected = isTheirs && stateNow() === "usable";
      if (expected) ruled = undefined;
      return isUsed === expected ? undefined : `use by ${key} in ${stateNow()}: not ${expected}`;
    },
    async function hold() {
      const key = keys[random(3)]!;
      const address = addresses.get(key)!;
      address.isHeld = !address.isHeld;
      const update = "UPDATE user_addresses SET held_until_ms = ?2 WHERE address_key = ?1";
      await DB.prepare(update)
        .bind(key, address.isHeld ? 9e15 : null)
        .run();
      return undefined;
    },
    async function suspend() {
      isActive = random(3) > 0;
      await DB.prepare("UPDATE users SET status = ?1")
        .bind(isActive ? "active" : "suspended")
        .run();
      return undefined;
    },
  ];

  function stopped(changes: number, expected: boolean, by: string): string | undefined {
    const difference = changes > 0 === expected ? undefined : `stop by ${by} in ${stateNow()}: not ${expected}`;
    if (expected) ruled!.stoppedAtMs = nowMs;
    return difference;
  }

  const weights = [0, 0, 0, 1, 2, 3, 4, 4, 4, 5, 5, 5, 6, 7];
  const passes = [0, 0, 1_000, 6 * 3_600_000, day - 1, day, day, 3 * day, week, 8 * day];
  for (let step = 0; step < 40; step += 1) {
    nowMs += passes[random(passes.length)]!;
    const difference = await actions[weights[random(weights.length)]!]!();
    if (difference !== undefined) return `seed ${seed}, step ${step}: ${difference}`;
  }
  return undefined;
}

describe("histories of a recovery by mail alone", () => {
  it("the statements are the rule", async () => {
    for (let seed = 1; seed <= 40; seed += 1) expect(await differs(seed, DB)).toBeUndefined();
  });

  const mutants: Readonly<Record<string, Mutant>> = {
    "used at once": { from: "asked_at_ms + 86400000 <= ?4", to: "?4 > 0" },
    "used after a stop": { from: "AND stopped_at_ms IS NULL AND asked_at_ms", to: "AND asked_at_ms" },
    "used after its end": { from: "<= ?4 AND until_ms > ?4)", to: "<= ?4)" },
    "used by another mailbox": { from: "recovery_id = ?2 AND address_key = ?3", to: "recovery_id = ?2" },
    "used twice": { from: "DELETE FROM account_recoveries WHERE sub = ?1", to: "SELECT ?1" },
    "asked for anew while one waits or is stopped": { from: "WHERE until_ms <= ?4", to: "WHERE ?4 > 0" },
    "never asked for again": { from: "WHERE until_ms <= ?4", to: "WHERE ?4 < 0" },
    "asked for with a young address": { from: "own.verified_at_ms <= ?4", to: "?4 > 0 OR own.verified_at_ms <= ?4" },
    "asked for with a replaced address": { from: "own.held_until_ms IS NULL", to: "1" },
    "asked for by a suspended person": { from: "AND u.status = 'active'", to: "" },
    "the oldest address does not count": { from: "OR NOT EXISTS", to: "AND NOT EXISTS" },
    "stopped twice, which blocks for longer": {
      from: "WHERE sub = ?1 AND stopped_at_ms IS NULL AND until_ms > ?2",
      to: "WHERE sub = ?1 AND until_ms > ?2",
    },
    "stopped after its end": { from: "AND stopped_at_ms IS NULL AND until_ms > ?2", to: "AND stopped_at_ms IS NULL" },
    "stopped by an old link": { from: "?4 IS NULL OR recovery_id = ?4", to: "?4 IS NULL OR 1" },
    "stopped by a session that was ended": { from: "?5 IS NULL OR EXISTS", to: "1 OR EXISTS" },
    "a stop that stops nothing": { from: "SET stopped_at_ms = ?2, until_ms = ?3", to: "SET until_ms = ?3 + 0 * ?2" },
    "a stop that blocks nobody": {
      from: "SET stopped_at_ms = ?2, until_ms = ?3",
      to: "SET stopped_at_ms = ?2, until_ms = ?2 + 0 * ?3",
    },
  };

  it.each(Object.entries(mutants))("%s is found", async (_, mutant) => {
    let isMet = false;
    const database = mutated(mutant, () => {
      isMet = true;
    });
    let found: string | undefined;
    for (let seed = 1; seed <= 200 && found === undefined; seed += 1) found = await differs(seed, database);
    expect([isMet, found !== undefined]).toEqual([true, true]);
  });
});
