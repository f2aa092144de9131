/**
 * **T: taking back is stronger than taking.** Within a week of the first change that somebody else made, the link that was mailed to the oldest
 * address restores the account, whatever came after it; who holds that address and one factor of their own has the account. Random histories of an
 * owner and a thief run the deployed code on D1; each mutant changes one condition of it.
 */

import { withMembers } from "@edge-op/shared/http/request-context";
import type { PreparedNotice } from "@edge-op/shared/mail/mail-sender-rpc";
import { takeBackLinkTo } from "@edge-op/shared/mail/sealed-links";
import { insertPasskey } from "@edge-op/shared/users/credentials";
import { findFactors } from "@edge-op/shared/users/factors";
import { describe, expect, it } from "vitest";
import { addAddress, commitAddress } from "../src/account/commit-address.ts";
import { commitPrimary, commitRemoval, findOther } from "../src/account/other-addresses.tsx";
import { findChange, takeBack } from "../src/account/take-back.ts";
import { whileRecoverable } from "../src/addresses/find-by-address.ts";
import { insertTotp, saveRecoveryCodes } from "../src/factors/factor-store.ts";
import { replacePassword } from "../src/passwords/replace-password.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import type { SignedInPerson } from "../src/session/signed-in-person.ts";
import { WriteRefused, whileInForce, writeAs } from "../src/session/write-as.ts";
import { recoveryFactor } from "../src/step/second-factor.ts";
import { insertIdentity } from "../src/upstream/identity-store.ts";
import {
  authEnv,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { AuthenticatorApp } from "./fixtures/authenticator-app.ts";
import { postOnce, useMailedCodes } from "./fixtures/mailed-codes.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const { DB } = authEnv;
const mailed = useMailedCodes();
const { fixtures, browser } = useDeployment({ skip_consent: true }, mailed);

const sub = "alice";
const oldest = "alice@example.com";
const hour = 3_600_000;
const week = 7 * 24 * hour;
const startMs = 1_800_000_000_000;

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

type Actor = "owner" | "thief";

const hashNow = () => DB.prepare("SELECT hash FROM user_passwords WHERE sub = ?1").bind(sub).first("hash");

interface Mutant {
  readonly from: string;
  readonly to: string;
}

/** The database as a mutant of the code meets it. */
function mutated({ from, to }: Mutant): D1Database {
  return new Proxy(DB, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => target.prepare(sql.replaceAll(from, () => to));
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** **One history.** The thief has the password, or a session; the owner has the mailbox of the oldest address and, if `hasApp`, an app. */
class History {
  readonly #env: AuthEnv;
  readonly #random: (below: number) => number;
  readonly #links: Record<Actor, string[]> = { owner: [], thief: [] };
  readonly #sessions: Record<Actor, SignedInPerson | undefined> = { owner: undefined, thief: undefined };
  readonly #mailboxes = new Set<string>();
  /** Hashes of passwords that they know. */
  readonly #known: Record<Actor, Set<unknown>> = { owner: new Set(["known"]), thief: new Set(["known"]) };
  #atMs = startMs;
  #count = 0;

  constructor(env: AuthEnv, seed: number) {
    this.#env = env;
    this.#random = randomOf(seed);
  }

  static async begin(env: AuthEnv, seed: number): Promise<History> {
    const emptied = [
      "user_totp",
      "webauthn_credentials",
      "user_recovery_codes",
      "user_identities",
      "user_sessions",
      "cut_offs",
    ];
    await DB.batch([
      ...emptied.map((table) => DB.prepare(`DELETE FROM ${table}`)),
      DB.prepare("DELETE FROM user_addresses WHERE sub = ?1").bind(sub),
      DB.prepare("INSERT INTO user_addresses (address_key, sub, verified_at_ms) VALUES (?1, ?2, 1)").bind(oldest, sub),
      DB.prepare(
        "UPDATE users SET claims = json_object('email', ?1, 'email_verified', json('true')) WHERE sub = ?2",
      ).bind(oldest, sub),
      DB.prepare("UPDATE user_passwords SET hash = 'known' WHERE sub = ?1").bind(sub),
    ]);
    return new History(env, seed);
  }

  get #context() {
    return withMembers<AuthEnv>(contextOf(this.#env), { arrivedAtMs: this.#atMs });
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }

  #pass(ms: number): void {
    this.#atMs += 1 + this.#random(ms);
  }

  /** A session at the level of the account, of whoever knows the password and has the app that it asks for, or has a passkey there. */
  async #signIn(actor: Actor): Promise<SignedInPerson | undefined> {
    const { results } = await DB.prepare(
      "SELECT 'app' AS kind, factor_id AS id FROM user_totp WHERE sub = ?1 UNION ALL SELECT 'passkey', credential_id FROM webauthn_credentials WHERE sub = ?1",
    )
      .bind(sub)
      .all<{ kind: "app" | "passkey"; id: string }>();
    const own = results.filter(({ id }) => id.startsWith(actor));
    const needsApp = results.some(({ kind }) => kind === "app");
    const byPassword = this.#known[actor].has(await hashNow()) && (!needsApp || own.some(({ kind }) => kind === "app"));
    if (!byPassword && !own.some(({ kind }) => kind === "passkey")) return undefined;
    const version = (await DB.prepare("SELECT max(version) AS v FROM control_changes").first<number>("v")) ?? 0;
    const sid = `${actor} ${this.#next()}`;
    await DB.prepare(
      "INSERT INTO user_sessions (sid, sub, device, signed_in_at_ms, ends_at_ms) VALUES (?1, ?2, '', ?3, 9e15)",
    )
      .bind(sid, sub, this.#atMs)
      .run();
    return this.#personOf(sid, version);
  }

  async #personOf(sid: string, version: number): Promise<SignedInPerson> {
    const row = await DB.prepare("SELECT claims FROM users WHERE sub = ?1").bind(sub).first<string>("claims");
    // The session id contains the version in its last characters (sessions.ts).
    const sessionId = `ss.g1.wnam.0.${"x".repeat(43)}${version.toString(36)}`;
    const user = { sub, username: sub, claims: JSON.parse(row!) };
    return { user, sessionId, session: { sid, sub, proofs: [] } } as unknown as SignedInPerson;
  }

  /** What a mail brings: the link to the address that it names, or that of what was added to the oldest address. */
  async #receive(notices: readonly PreparedNotice[]): Promise<void> {
    for (const { undo, takesBack: added } of notices) {
      if (undo?.address !== undefined)
        this.#links[this.#mailboxes.has(undo.address) ? "thief" : "owner"].push(undo.path);
      if (added === undefined) continue;
      const first = await DB.prepare(
        `SELECT address_key FROM user_addresses WHERE sub = ?1 AND coalesce(held_until_ms, ?2 + 1) > ?2
           ORDER BY verified_at_ms LIMIT 1`,
      )
        .bind(sub, this.#atMs)
        .first<string>("address_key");
      const path = await takeBackLinkTo(authEnv, { sub, key: first!, added });
      this.#links[this.#mailboxes.has(first!) ? "thief" : "owner"].push(path);
    }
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    mailed.notices.length = 0;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
    }
    await this.#receive([...mailed.notices]);
  }

  async #write(person: SignedInPerson, kind: "totp" | "passkey" | "recovery_codes" | "identity", actor: Actor) {
    const context = this.#context;
    const id = `${actor}-${kind}-${this.#next()}`;
    const statement = {
      totp: () => insertTotp(context, { sub, factorId: id, secret: new Uint8Array(20), step: 0, isFirst: false }),
      passkey: () =>
        insertPasskey(context.env.DB, {
          ...{ credentialId: id, sub, publicKey: "", signCount: 0, transports: [], backedUp: false, name: "" },
          ...{ createdAtMs: this.#atMs, lastUsedAtMs: undefined },
        }),
      recovery_codes: () => saveRecoveryCodes(context, { sub, setId: id, hashes: "" }),
      identity: () =>
        insertIdentity(context.env.DB, {
          upstreamId: "idp",
          issuer: "i",
          subject: id,
          sub,
          label: "",
          atMs: this.#atMs,
        }),
    }[kind];
    await writeAs(context, this.#basis(person), [await statement()]);
    const takesBack = { kind, id: kind === "identity" ? JSON.stringify(["idp", "i", id]) : id };
    mailed.notices.push({ takesBack } as unknown as PreparedNotice);
  }

  #basis({ session: { sid }, sessionId }: SignedInPerson) {
    return { sub, sid, version: Number.parseInt(sessionId.slice(sessionId.lastIndexOf("x") + 1), 36) };
  }

  async #address(actor: Actor) {
    const address = `${actor}${this.#next()}@example.org`;
    if (actor === "thief") this.#mailboxes.add(address);
    return { key: address, address };
  }

  async #other(person: SignedInPerson) {
    const { results } = await DB.prepare(
      "SELECT address_key FROM user_addresses WHERE sub = ?1 AND held_until_ms IS NULL",
    )
      .bind(sub)
      .all<{ address_key: string }>();
    const key = results[this.#random(results.length)]?.address_key ?? "";
    return findOther({ context: this.#context }, person.user, key);
  }

  /** Whoever has the mailbox of a present address sets a new password, if they have what it asks for. Returns whether they did. */
  async recover(actor: Actor): Promise<boolean> {
    const isOwn = (key: string) => (actor === "thief") === this.#mailboxes.has(key);
    const { results } = await DB.prepare(
      "SELECT address_key AS k FROM user_addresses WHERE sub = ?1 AND held_until_ms IS NULL",
    )
      .bind(sub)
      .all<{ k: string }>();
    const credential = results.find(({ k }) => isOwn(k))?.k;
    if (credential === undefined) return false;
    const context = this.#context;
    const version = (await DB.prepare("SELECT max(version) AS v FROM control_changes").first<number>("v")) ?? 0;
    const proof = { method: "mailedCode", sub, credential, atMs: this.#atMs, controlVersion: version } as const;
    const factors = (await findFactors(DB, sub))!;
    const needed = recoveryFactor({ flow: { proofs: [proof] }, facts: { factors } });
    if (needed !== "none") {
      const own =
        "SELECT 1 FROM user_totp WHERE sub = ?1 AND factor_id LIKE ?2 UNION ALL SELECT 1 FROM user_recovery_codes WHERE sub = ?1 AND set_id LIKE ?2";
      if ((await DB.prepare(own).bind(sub, `${actor}%`).first()) === null) return false;
    }
    const guards = [
      whileInForce(context.env.DB, { sub, version }),
      whileRecoverable(context.env.DB, proof, { factors }, this.#atMs),
    ] as const;
    await this.#attempt(() =>
      replacePassword(context, { sub, claims: {} } as never, `${actor}'s`, { action: "password.recovered", guards }),
    );
    this.#known[actor].add(await hashNow());
    return true;
  }

  /** Follows a link; returns whether it took anything back. */
  async follow(path: string): Promise<boolean> {
    const change = await findChange(this.#context, new URLSearchParams(path.split("?")[1]).get("undo") ?? "");
    if (change === undefined) return false;
    await this.#attempt(() => takeBack(this.#context, change));
    return true;
  }

  /** One thing that somebody who is signed in at the level of the account, or reads mails, does. */
  async act(actor: Actor): Promise<void> {
    this.#pass(12 * hour);
    this.#sessions[actor] ??= await this.#signIn(actor);
    const person = this.#sessions[actor];
    const choice = this.#random(11);
    const context = this.#context;
    if (choice === 9) return void (await this.recover(actor));
    if (choice === 10) {
      const links = this.#links[actor];
      if (actor === "thief" && links.length > 0) await this.follow(links[this.#random(links.length)]!);
      return;
    }
    if (person === undefined) return;
    const current = await this.#personOf(person.session.sid, this.#basis(person).version);
    await this.#attempt(async () => {
      switch (choice) {
        case 0:
          return commitAddress(context, current, await this.#address(actor));
        case 1:
          return addAddress(context, current, await this.#address(actor));
        case 2: {
          const other = await this.#other(current);
          return other && commitPrimary(context, current, other);
        }
        case 3: {
          const other = await this.#other(current);
          return other && commitRemoval(context, current, other);
        }
        case 4: {
          const guards = [whileInForce(context.env.DB, this.#basis(current))] as const;
          await replacePassword(context, current.user, "another", {
            action: "password.changed",
            guards,
            kept: current.session.sid,
          });
          this.#known[actor].add(await hashNow());
          this.#sessions[actor] = undefined;
          return undefined;
        }
        default:
          return this.#write(current, (["totp", "passkey", "recovery_codes", "identity"] as const)[choice - 5]!, actor);
      }
    });
  }

  /** The owner follows their mails, the oldest first, until one takes something back: what an earlier one would have removed is gone. */
  async takeBack(): Promise<boolean> {
    for (const link of this.#links.owner) if (await this.follow(link)) return true;
    return false;
  }

  get elapsedMs(): number {
    return this.#atMs - startMs;
  }

  /** Whether the account is what it was: one address, no factor of the thief since, none of their sessions. */
  async state(): Promise<unknown> {
    const addresses = await DB.prepare("SELECT group_concat(address_key) AS a FROM user_addresses WHERE sub = ?1")
      .bind(sub)
      .first("a");
    const email = await DB.prepare("SELECT claims ->> '$.email' AS e FROM users WHERE sub = ?1").bind(sub).first("e");
    const factors = await DB.prepare(
      `SELECT (SELECT count(*) FROM user_totp WHERE factor_id LIKE 'thief%') + (SELECT count(*) FROM webauthn_credentials WHERE credential_id LIKE 'thief%')
         + (SELECT count(*) FROM user_recovery_codes WHERE set_id LIKE 'thief%') + (SELECT count(*) FROM user_identities WHERE subject LIKE 'thief%') AS n`,
    ).first("n");
    const person = this.#sessions.thief ?? (await this.#signIn("thief"));
    const isIn = person !== undefined && (await this.#isInForce(person));
    return { addresses, email, factors, isThiefIn: isIn || (await this.#signIn("thief")) !== undefined };
  }

  async #isInForce(person: SignedInPerson): Promise<boolean> {
    try {
      await writeAs(contextOf(), this.#basis(person), [DB.prepare("SELECT 1")]);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }
}

const restored = { addresses: oldest, email: oldest, factors: 0, isThiefIn: false };

/** A thief acts for days; then the owner follows their mails, and sets a password. Returns what is wrong afterwards. */
async function run(env: AuthEnv, seed: number): Promise<unknown> {
  const history = await History.begin(env, seed);
  const acts = 3 + randomOf(seed + 1)(9);
  for (let act = 0; act < acts && history.elapsedMs < week - 12 * hour; act += 1) await history.act("thief");
  const isTakenBack = await history.takeBack();
  const between = isTakenBack ? await history.state() : restored;
  const isRecovered = await history.recover("owner");
  const atOnce = await history.state();
  for (let act = 0; act < 6; act += 1) await history.act("thief");
  const found = { between, isRecovered, atOnce, later: await history.state() };
  const expected = { between: restored, isRecovered: true, atOnce: restored, later: restored };
  return JSON.stringify(found) === JSON.stringify(expected) ? undefined : { seed, ...found };
}

const firstSeed = Number(new Date().toISOString().slice(0, 10).replaceAll("-", ""));
const histories = 25;

const mutants: Readonly<Record<string, Mutant>> = {
  "an address that was planted before the change stays": {
    from: "AND verified_at_ms > (SELECT",
    to: "AND 0 AND verified_at_ms > (SELECT",
  },
  "factors stay": { from: "AND created_at_ms >= ?2", to: "AND created_at_ms < ?2" },
  "the password goes on working": {
    from: "UPDATE user_passwords SET hash = ?2, updated_at_ms = ?3 WHERE sub = ?1",
    to: "UPDATE user_passwords SET hash = iif(0, ?2, hash), updated_at_ms = ?3 WHERE sub = ?1 AND 0",
  },
  "a session that was cut off writes": { from: "'write refused: ended'", to: "'$'" },
};

describe("a thief who has the password", () => {
  const path = "/account/address";
  const undoOf = (link: string) => new URLSearchParams(link.split("?")[1]).get("undo")!;
  const undo = (link: string) => fixtures.browser(mailed.env).post(`${path}/undo`, { undo: undoOf(link) });
  const links = () => mailed.notices.flatMap((notice) => (notice.undo === undefined ? [] : [notice.undo.path]));
  const addresses = async () =>
    (await DB.prepare("SELECT address_key AS key FROM user_addresses WHERE sub = 'alice'").all()).results.map(
      ({ key }) => key,
    );

  async function changeTo(address: string): Promise<void> {
    const html = await (await browser.submit(path, { address })).text();
    const state = /name="state" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const posted = await browser.post(path, { form_token: formTokenOf(html), state, code: mailed.code });
    expect(locationOf(posted)).toBe("/account?notice=address-changed");
  }

  async function changeTwice(): Promise<readonly string[]> {
    await browser.signIn(locationOf(await browser.get("/account")));
    await changeTo("t1@thief.org");
    await changeTo("t2@thief.org");
    return links();
  }

  it("and has changed the address twice does not use the owner's week up", async () => {
    const [owners = "", thiefs = ""] = await changeTwice();
    expect((await undo(thiefs)).status).toBe(400);
    expect(stepOf(locationOf(await undo(owners)))).toBe("set-password");
    expect(await addresses()).toEqual([oldest]);
  });

  it("of two links at once the owner's alone takes back, and the account has its address", async () => {
    const [owners = "", thiefs = ""] = await changeTwice();
    const answers = await Promise.all([undo(owners), undo(thiefs), undo(owners)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 400, 400]);
    expect(await addresses()).toEqual([oldest]);
    const claims = await DB.prepare("SELECT claims FROM users WHERE sub = 'alice'").first<string>("claims");
    expect(JSON.parse(claims!)).toMatchObject({ email: oldest, email_verified: true });
  });

  it("and has set up an app does not stand between the owner and a new password; applications are told of the end", async () => {
    await browser.signInWhole();
    const app = await AuthenticatorApp.register("alice", "thief-app");
    const link = await takeBackLinkTo(authEnv, { sub, key: oldest, added: { kind: "totp", id: app.factorId } });
    const owner = fixtures.browser(mailed.env);
    expect((await owner.get(link)).status).toBe(200);
    const page = locationOf(await owner.post(`${path}/undo`, { undo: undoOf(link) }));
    expect(stepOf(page)).toBe("set-password");
    // The session of the thief is not listed any more: ControlPlane ends it, and sends logout tokens.
    expect([await countRows("user_sessions"), await countRows("user_grants")]).toEqual([0, 0]);
    const chosen = "purple monkey dishwasher 42";
    expect(locationOf(await postOnce(owner, page, { new: chosen, repeat: chosen }))).toBe("/account");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
    const thief = fixtures.browser(mailed.env);
    expect((await thief.signIn(await thief.pageOf())).status).toBe(400);
    expect((await undo(link)).status).toBe(400);
  });

  it("the owner's own app is asked for before the new password: a mailbox alone takes no account", async () => {
    const app = await AuthenticatorApp.register("alice", "own-app");
    await DB.prepare("UPDATE user_totp SET created_at_ms = 1").run();
    await DB.prepare(
      "INSERT INTO webauthn_credentials (credential_id, sub, public_key, sign_count, name, created_at_ms) VALUES ('p', 'alice', '', 0, '', ?1)",
    )
      .bind(Date.now())
      .run();
    const link = await takeBackLinkTo(authEnv, { sub, key: oldest, added: { kind: "passkey", id: "p" } });
    const owner = fixtures.browser(mailed.env);
    const page = locationOf(await owner.post(`${path}/undo`, { undo: undoOf(link) }));
    expect(stepOf(page)).toBe("prove-more");
    expect(stepOf(locationOf(await owner.submit(page, { code: await app.code() })))).toBe("set-password");
  });
});

describe("random histories of an owner and a thief who has the password", () => {
  it("the owner's first link restores the account, and it stays theirs", { timeout: 60_000 }, async () => {
    await seedUpstream();
    for (let seed = firstSeed; seed < firstSeed + histories; seed += 1)
      expect(await run(mailed.env, seed)).toBeUndefined();
  });

  it.each(Object.entries(mutants))("are lost if %s", { timeout: 60_000 }, async (_, mutant) => {
    await seedUpstream();
    const env = { ...mailed.env, DB: mutated(mutant) };
    const seeds = Array.from({ length: 4 * histories }, (__, index) => firstSeed + index);
    const isCaught = async (seed: number) => (await run(env, seed)) !== undefined;
    let caught = false;
    for (const seed of seeds) if (!caught) caught = await isCaught(seed);
    expect(caught).toBe(true);
  });
});
