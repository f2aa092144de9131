/**
 * **Sign-ins at an upstream provider, and its logout tokens, in any order**: the statements of the product run in SQLite, as D1 orders them; an
 * object of a session is what opens it once and ends it. A provider redeems codes also of sessions that it has ended. Calls are lost before or after
 * their effect, messages are repeated, late and concurrent, and old ones are swept. Each mutant breaks one rule.
 *
 * Claims: after the response to a message no session lives that it names and whose sign-in began before it was sent (G3, G4), unless the provider has
 * stated it since; and nothing ends but for such a message (G1, once).
 */

import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { endingOf, statementOf } from "../../packages/op-auth/src/upstream/statement-keys.ts";
import { listEnded, newestEnding, recordEnding } from "../../packages/shared/src/sessions/upstream-statements.ts";
import { deleteUserSessions, saveUserSession } from "../../packages/shared/src/sessions/user-sessions.ts";
import type { Upstream } from "../../packages/shared/src/upstreams/upstream.ts";
import { runCount } from "./run-count.ts";
import { Sqlite, type Written } from "./sqlite.ts";

const schema = globSync("migrations/*.sql")
  .toSorted()
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");
const upstream = {
  upstreamId: "idp",
  document: { kind: "oidc", issuer: "https://idp.example.net", backchannel_logout: true },
} as unknown as Upstream;

class Lost extends Error {}

/** A mutant: text of statements that is replaced, and what else differs. */
interface Wiring {
  readonly replaced?: readonly (readonly [string, string])[];
  /** The response does not wait for the ends of sessions. */
  readonly respondsEarly?: boolean;
  /** An object that does not know a session lets it be opened later. */
  readonly forgetsUnknown?: boolean;
  readonly remembersNothing?: boolean;
}

interface SignIn {
  readonly sub: string;
  readonly theirSid: string | undefined;
  /** Before and after the call that orders it. */
  readonly beganAt: number;
  leftAt: number;
  issuedAt: number;
  sid: string | undefined;
  outcome: "under way" | "lost" | "refused" | "signed in";
}

interface Message {
  readonly jti: string;
  readonly sub: string | undefined;
  readonly sid: string | undefined;
  readonly issuedAt: number;
  readonly sentAt: number;
  answeredAt: number;
}

/** mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const people = ["pat", "kim"];

class World {
  readonly signIns: SignIn[] = [];
  readonly messages: Message[] = [];
  readonly #wiring: Wiring;
  readonly #random: () => number;
  readonly #sqlite = new Sqlite();
  readonly #objects = new Map<string, "open" | "ended" | "never">();
  readonly #waiting: (() => void)[] = [];
  readonly #db: D1Database;
  #running = 0;
  #computing = 0;
  #steps = 0;
  #nowMs = 1_800_000_000_000;

  constructor(seed: number, wiring: Wiring) {
    this.#wiring = wiring;
    this.#random = randomOf(seed);
    this.#sqlite.script(`PRAGMA foreign_keys = ON; ${schema}`);
    for (const sub of people) {
      this.#sqlite.script(
        `INSERT INTO users (sub, username, username_key, created_at_ms, updated_at_ms) VALUES ('${sub}', '${sub}', '${sub}', 0, 0)`,
      );
    }
    this.#db = this.#database();
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }

  /** Until every request has ended; each step is one of those that wait. */
  async run(requests: readonly (() => Promise<void>)[]): Promise<void> {
    for (const request of requests) {
      this.#running += 1;
      void this.#step()
        .then(request)
        .catch((error: unknown) => {
          if (!(error instanceof Lost) && !String((error as Error).cause).includes("Lost")) throw error;
        })
        .finally(() => {
          this.#running -= 1;
        });
    }
    while (this.#running > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      // Every request waits, and none computes, so that a history follows from its seed.
      if (this.#computing > 0 || this.#waiting.length === 0) continue;
      const [next] = this.#waiting.splice(Math.floor(this.#random() * this.#waiting.length), 1);
      this.#steps += 1;
      this.#nowMs += this.#random() * (this.chance(0.1) ? 300_000 : 20_000);
      if (this.chance(0.02))
        this.#sqlite.run({ sql: "DELETE FROM upstream_endings WHERE until_ms <= ?1", values: [this.#nowMs] });
      next?.();
    }
  }

  async #compute<T>(computed: Promise<T>): Promise<T> {
    this.#computing += 1;
    try {
      return await computed;
    } finally {
      this.#computing -= 1;
    }
  }

  #step(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A call of something far away: it may be lost on its way there, or on its way back. */
  async #call<T>(effect: () => T): Promise<T> {
    await this.#step();
    if (this.chance(0.03)) throw new Lost("Lost");
    const result = effect();
    await this.#step();
    if (this.chance(0.03)) throw new Lost("Lost");
    return result;
  }

  #database(): D1Database {
    const mutate = ({ sql, values }: Written): Written => ({
      sql: (this.#wiring.replaced ?? []).reduce((text, [from, to]) => text.replaceAll(from, to), sql),
      values,
    });
    const execute = (all: readonly Written[]) =>
      this.#call(() =>
        this.#sqlite.transaction(() =>
          all.map((written) => {
            const { rows, changes } = this.#sqlite.run(mutate(written));
            return { success: true, results: rows.map((row) => ({ ...row })), meta: { changes } };
          }),
        ),
      );
    const statement = (written: Written): object => ({
      written,
      bind: (...values: unknown[]) => statement({ ...written, values }),
      all: async () => (await execute([written]))[0],
      run: async () => (await execute([written]))[0],
      first: async (column?: string) => {
        const [row] = (await execute([written]))[0]!.results as Record<string, unknown>[];
        return column === undefined ? row : row?.[column];
      },
    });
    return {
      prepare: (sql: string) => statement({ sql, values: [] }),
      batch: (all: readonly { readonly written: Written }[]) => execute(all.map(({ written }) => written)),
    } as unknown as D1Database;
  }

  #open(sid: string): Promise<"opened" | "gone"> {
    return this.#call(() => {
      if (this.#objects.has(sid)) return "gone";
      this.#objects.set(sid, "open");
      return "opened";
    });
  }

  #end(sid: string): Promise<boolean> {
    return this.#call(() => {
      const isKnown = this.#objects.get(sid) === "open" || this.#objects.get(sid) === "ended";
      if (isKnown || this.#wiring.forgetsUnknown !== true) this.#objects.set(sid, isKnown ? "ended" : "never");
      return isKnown;
    });
  }

  /** As packages/op-auth/src/session/open-session.ts. */
  async #openSession(signIn: SignIn, asOf: number): Promise<string | undefined> {
    const person = {
      issuer: upstream.document.issuer!,
      subject: signIn.sub,
      sid: signIn.theirSid,
      issuedAt: signIn.issuedAt,
    };
    const statement = await this.#compute(statementOf(upstream, person as Parameters<typeof statementOf>[1], { asOf }));
    const statements = statement === undefined ? [] : [statement];
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const sid = `sid-${this.#objects.size}-${Math.floor(this.#random() * 1e9)}`;
      const listed = { sid, device: "x", signedInAtMs: this.#nowMs, endsAtMs: this.#nowMs + 1e9 };
      const [opened, saved] = await Promise.all([
        this.#open(sid),
        saveUserSession(this.#db, signIn.sub, listed, 0, { statements }),
      ]);
      if (opened === "opened" && saved.kind === "stored") return sid;
      await this.#end(sid);
      if (saved.kind === "cut off") return undefined;
      await deleteUserSessions(this.#db, signIn.sub, [sid]);
    }
    return undefined;
  }

  async signIn(sub: string, theirSid: string | undefined): Promise<void> {
    const signIn: SignIn = {
      sub,
      theirSid,
      beganAt: this.#steps,
      leftAt: 0,
      issuedAt: 0,
      sid: undefined,
      outcome: "lost",
    };
    this.signIns.push(signIn);
    const asOf = await newestEnding(this.#db);
    signIn.leftAt = this.#steps;
    const leftMs = this.#nowMs;
    await this.#step();
    signIn.issuedAt = Math.floor(this.#nowMs / 1000);
    for (let page = this.pick([0, 1, 3]); page > 0; page -= 1) await this.#step();
    if (this.#nowMs > leftMs + 3_600_000) return;
    signIn.sid = await this.#openSession(signIn, asOf);
    signIn.outcome = signIn.sid === undefined ? "refused" : "signed in";
  }

  async logOut(sub: string | undefined, sid: string | undefined): Promise<void> {
    const sentAt = this.#steps;
    const issuedAt = Math.floor(this.#nowMs / 1000);
    const jti = `jti-${this.messages.length}`;
    const message: Message = { jti, sub, sid, issuedAt, sentAt, answeredAt: Number.POSITIVE_INFINITY };
    this.messages.push(message);
    if (this.chance(0.3)) for (let late = 0; late < 6; late += 1) await this.#step();
    const deliveries = this.chance(0.3) ? [this.#deliver(message), this.#deliver(message)] : [this.#deliver(message)];
    await Promise.all(deliveries);
    if (!this.chance(0.5)) return;
    for (let wait = 0; wait < 12; wait += 1) await this.#step();
    await this.#deliver(message);
  }

  /** As packages/op-auth/src/upstream/backchannel-logout.ts, by a provider that repeats what failed. */
  async #deliver(message: Message): Promise<void> {
    for (let attempt = 0; attempt < 4; attempt += 1) {
      if (message.issuedAt * 1000 < this.#nowMs - 600_000) return;
      try {
        await this.#receive(message);
        message.answeredAt = Math.min(message.answeredAt, this.#steps);
        return;
      } catch (error) {
        if (!String(error).includes("Lost") && !String((error as Error).cause).includes("Lost")) throw error;
      }
    }
  }

  async #receive(message: Message): Promise<void> {
    const { untilMs, ...ending } = await this.#compute(endingOf(upstream, message, this.#nowMs));
    const remembered = this.#wiring.remembersNothing === true ? this.#nowMs : untilMs;
    const ended = (await recordEnding(this.#db, { ...ending, untilMs: remembered })) ?? [];
    const ends = ended.map(async ({ sid, sub }) => {
      await this.#end(sid);
      await deleteUserSessions(this.#db, sub, [sid]);
    });
    if (this.#wiring.respondsEarly === true) {
      void Promise.allSettled(ends);
      return;
    }
    await Promise.all(ends);
    await listEnded(this.#db, ending.keys);
  }

  isAlive({ sid }: SignIn): boolean {
    return sid !== undefined && this.#objects.get(sid) === "open";
  }
}

/** In the words of OIDC Back-Channel Logout §2.4, without keys. */
function names({ sub, sid }: Message, signIn: SignIn): boolean {
  if (sid === undefined) return signIn.sub === sub;
  return signIn.theirSid === sid || (signIn.theirSid === undefined && signIn.sub === sub);
}

const isStatedSince = ({ issuedAt }: Message, signIn: SignIn) => signIn.issuedAt > issuedAt + 60;

function violations(world: World): string[] {
  return world.signIns.flatMap((signIn) => {
    const about = world.messages.filter((message) => names(message, signIn) && !isStatedSince(message, signIn));
    const due = about.some(({ sentAt, answeredAt }) => answeredAt < Number.POSITIVE_INFINITY && signIn.leftAt < sentAt);
    if (due && world.isAlive(signIn)) return ["a session that its provider has ended lives"];
    const mayEnd = about.some(({ answeredAt }) => signIn.beganAt < answeredAt);
    const isEnded = signIn.outcome === "refused" || (signIn.outcome === "signed in" && !world.isAlive(signIn));
    return isEnded && !mayEnd ? ["a session was ended by nobody"] : [];
  });
}

async function history(
  seed: number,
  wiring: Wiring,
): Promise<{ readonly world: World; readonly violations: string[] }> {
  const world = new World(seed, wiring);
  const theirs = [undefined, "s1", "s2"];
  const requests: (() => Promise<void>)[] = [];
  for (let count = 0; count < 5; count += 1) {
    const [sub, sid] = [world.pick(people), world.pick(theirs)];
    requests.push(() => world.signIn(sub, sid && `${sub} ${sid}`));
  }
  for (let count = 0; count < 3; count += 1) {
    const [sub, sid, alone] = [world.pick(people), world.pick(theirs), world.chance(0.3)];
    requests.push(() => world.logOut(sid !== undefined && alone ? undefined : sub, sid && `${sub} ${sid}`));
  }
  await world.run(requests);
  return { world, violations: violations(world) };
}

const mutants: Readonly<Record<string, Wiring>> = {
  "a sign-in that does not look for messages": { replaced: [["e.seq > s.value ->> 'asOf'", "0"]] },
  "a sign-in that began at its return, for its order": {
    replaced: [["coalesce(max(seq), 0)", "coalesce(max(seq), 0) + 2"]],
  },
  "a message that does not look for sessions": { replaced: [["e.seq > s.as_of", "0"]] },
  "sessions whose provider is not written down": { replaced: [["FROM json_each(?2)\n", "FROM json_each('[]')\n"]] },
  "a late message that ends what was stated since": {
    replaced: [["issued_at <= e.issued_at + 60", "issued_at <= e.issued_at + 9999"]],
  },
  "only sessions by their sid": { replaced: [["s.subject_key = e.name", "s.subject_key = 0"]] },
  "messages that are forgotten at once": { remembersNothing: true },
  "a response before the sessions have ended": { respondsEarly: true },
  "an ended session that can still be opened": { forgetsUnknown: true },
};

describe("OIDC Back-Channel Logout §2.7: sign-ins and messages in any order", () => {
  it("no history has a violation, and each outcome occurs", async () => {
    const runs = runCount(300, 2_000);
    const first = Math.floor(Math.random() * 1e9);
    const seen = new Map<string, number>();
    for (let run = 0; run < runs; run += 1) {
      const { world, violations: found } = await history(first + run, {});
      expect(found, `seed ${first + run}`).toEqual([]);
      for (const signIn of world.signIns) {
        const outcome = signIn.outcome === "signed in" && !world.isAlive(signIn) ? "ended" : signIn.outcome;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    }
    for (const outcome of ["signed in", "ended", "refused", "lost"])
      expect(seen.get(outcome)).toBeGreaterThan(runs / 20);
  });

  it.each(Object.entries(mutants))("the simulation catches %s", async (_, wiring) => {
    let caught = 0;
    for (let seed = 1; seed <= 1_500 && caught === 0; seed += 1) {
      caught = (await history(seed, wiring)).violations.length;
    }
    expect(caught).toBeGreaterThan(0);
  });
});
