import { countCalls } from "@edge-op/shared/http/count-calls";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import {
  authEnv,
  type Browser,
  formTokenOf,
  locationOf,
  password,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

useAnnouncedSetUp();

/** A deployment that knows addresses. */
const addressed = { ...authEnv, TRUST_FORWARDED_HEADERS: "true" };
const home = "192.0.2.1";
const elsewhere = "198.51.100.7";

let passkey: SoftwarePasskey;

const { fixtures } = useDeployment();

beforeEach(async () => {
  passkey = await SoftwarePasskey.register("alice");
});

type Credential = (html: string) => string | Promise<string>;

const right: Credential = (html) => passkey.assert(html);
const forged: Credential = (html) => passkey.forge(html);
const unknown: Credential = async (html) => (await passkey.forge(html)).replaceAll(passkey.id, "A".repeat(22));
const malformed: Credential = () => "{}";
const anothersHandle: Credential = async (html) => (await passkey.assert(html)).replace('"userHandle":"', "$&_");

const unverified: Credential = (html) => passkey.assert(html, { isVerified: false });
const ofOtherHost: Credential = (html) => passkey.assert(html, { host: "op.example" });
const ofOtherOrigin: Credential = (html) => passkey.assert(html, { at: "https://op.example" });

/** A browser on a sign-in page. */
class Visitor {
  readonly browser: Browser;
  readonly #address: string;
  #page = "";
  #html = "";

  constructor(browser: Browser, address: string) {
    this.browser = browser;
    this.#address = address;
  }

  async open(): Promise<this> {
    this.#page = locationOf(await this.browser.authorize({ prompt: "login" }));
    this.#html = await (await this.browser.get(this.#page)).text();
    return this;
  }

  async try(credential: Credential): Promise<Response> {
    return this.submit({ credential: await credential(this.#html) });
  }

  submit(given: Record<string, string>): Promise<Response> {
    const fields = { form_token: formTokenOf(this.#html), ...given };
    return this.browser.send(this.#page, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": this.#address },
      body: new URLSearchParams(fields).toString(),
    });
  }

  async tryOften(times: number, credential: Credential): Promise<number[]> {
    const responses = await Promise.all(Array.from({ length: times }, () => this.try(credential)));
    return responses.map(({ status }) => status);
  }

  async prepare(credential: Credential): Promise<() => Promise<Response>> {
    const prepared = await credential(this.#html);
    return () => this.submit({ credential: prepared });
  }

  /**
   * The response to an attempt of another browser, sent right after sixty of this one, which take the places that become free meanwhile. Attempts of
   * one browser share a notice.
   */
  async after(others: Credential, attempt: () => Promise<Response>): Promise<Response> {
    const attempts = await Promise.all(Array.from({ length: 60 }, () => this.prepare(others)));
    const responses = await Promise.all([...attempts, attempt].map((send) => send()));
    return responses.at(-1)!;
  }
}

function visit(address: string, browser = fixtures.browser(addressed)): Promise<Visitor> {
  return new Visitor(browser, address).open();
}

function howMany(statuses: readonly number[], wanted: number): number {
  return statuses.filter((status) => status === wanted).length;
}

async function expectThrottled(response: Response, atMostSeconds: number): Promise<void> {
  expect(response.status).toBe(429);
  const seconds = Number(response.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(atMostSeconds);
  const html = await response.text();
  expect(html).toContain(`Too many attempts. Wait ${seconds} ${seconds === 1 ? "second" : "seconds"},`);
  // A passkey that was not looked up is not called unknown.
  expect(html).not.toContain("data-passkey-signal");
  expect(html).toContain('data-passkey="get"');
}

describe("signing in by passkey", () => {
  it("WebAuthn §7.2: a signature over this page's challenge signs in, one over another page's challenge does not", async () => {
    const visitor = await visit(home);
    const other = await visit(home);
    let foreign = "";
    await other.try(async (html) => (foreign = await passkey.assert(html)));
    expect((await visitor.try(() => foreign)).status).toBe(400);
    expect(locationOf(await visitor.try(right))).toMatch(/consent\?f=/);
    expect(visitor.browser.cookies.has("__Host-op-session")).toBe(true);
  });

  it.each([
    ["a forged signature", forged],
    ["a credential that does not exist", unknown],
    ["another person's user handle", anothersHandle],
    ["a signature without user verification", unverified],
    ["one for another relying party", ofOtherHost],
    ["one of a page of another origin", ofOtherOrigin],
  ])("WebAuthn §7.2: %s does not sign in", async (_, credential) => {
    const visitor = await visit(home);
    const response = await visitor.try(credential);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("That passkey did not work");
    expect(visitor.browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a suspended user's passkey does not sign in, and its owner is told why", async () => {
    await authEnv.DB.prepare("UPDATE users SET status = 'suspended' WHERE sub = 'alice'").run();
    const visitor = await visit(home);
    const response = await visitor.try(right);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("Your account is suspended.");
    expect(visitor.browser.cookies.has("__Host-op-session")).toBe(false);
    expect(await authEnv.DB.prepare("SELECT * FROM user_sessions").first()).toBeNull();
  });

  it.each([
    ["1 call for the attempt and 1 in the background to give it back", addressed, 3],
    ["none where the deployment does not know addresses", authEnv, 1],
  ])("costs 3 D1 calls, 1 of the session's object, and %s", async (_, bindings, object) => {
    const known = fixtures.browser();
    await known.signInWhole();
    const counts = { object: 0, kv: 0, d1: 0 };
    const { SESSION_STORE, DB } = countCalls(bindings, counts);
    const visitor = await visit(home, fixtures.browser({ ...bindings, SESSION_STORE, DB }));
    Object.assign(counts, { object: 0, kv: 0, d1: 0 });
    expect(sentToClient(await visitor.try(right)).code).toBeDefined();
    expect(counts).toEqual({ object, kv: 0, d1: 3 });
  });
});

describe("guessing passkeys", () => {
  it.each([
    ["forged signatures", forged],
    ["credentials that do not exist", unknown],
  ])("eleven %s are throttled, also in parallel, and the wait is short", async (_, credential) => {
    const visitor = await visit(elsewhere);
    const statuses = await visitor.tryOften(14, credential);
    expect([howMany(statuses, 400), howMany(statuses, 429)]).toEqual([10, 4]);
    await expectThrottled(await visitor.try(credential), 30);
  });

  it.each([
    ["of any credential", (html: string) => unknown(html)],
    ["that are malformed", malformed],
  ])("from one address, attempts %s beyond fifty are not evaluated", async (_, credential) => {
    const visitor = await visit(elsewhere);
    const stranger = await visit(elsewhere);
    await expectThrottled(await stranger.after(credential, await visitor.prepare(malformed)), 3);
    await expectThrottled(await stranger.after(credential, await visitor.prepare(right)), 3);
    expect(locationOf(await (await visit(home)).try(right))).toMatch(/consent\?f=/);
  });

  it("correct ones do not count", async () => {
    for (let time = 0; time < 60; time += 1) {
      const visitor = await visit(home);
      expect((await visitor.try(right)).status).toBe(303);
    }
  });
});

describe("an attacker without the passkey cannot lock a user out", () => {
  it("flooding its credential id: the owner's signature is still accepted, from a new browser", async () => {
    const stranger = await visit(elsewhere);
    expect(howMany(await stranger.tryOften(20, forged), 429)).toBe(10);
    const owner = await visit(home);
    await expectThrottled(await owner.try(forged), 30);
    expect(locationOf(await owner.try(right))).toMatch(/consent\?f=/);
  });

  it("flooding the owner's address too: a browser that has used the passkey has its own bucket", async () => {
    const known = fixtures.browser(addressed);
    await (await visit(home, known)).try(right);
    const stranger = await visit(home);
    const other = await visit(home);
    expect((await stranger.after(forged, await other.prepare(right))).status).toBe(429);
    expect(locationOf(await (await visit(home, known)).try(right))).toMatch(/consent\?f=/);
  });

  it("a browser is known only for its own passkey, and is throttled as well", async () => {
    const known = fixtures.browser(addressed);
    await (await visit(home, known)).try(right);
    const visitor = await visit(home, known);
    const stranger = await visit(home);
    await expectThrottled(await stranger.after(unknown, await visitor.prepare(unknown)), 3);
    const statuses = await visitor.tryOften(14, forged);
    expect([howMany(statuses, 400), howMany(statuses, 429)]).toEqual([10, 4]);
  });

  it("exhausting an address's attempts at passwords leaves passkeys", async () => {
    const stranger = await visit(home);
    const owner = await visit(home);
    const guess = () => stranger.submit({ username: "bob", password: "guess" });
    await Promise.all(Array.from({ length: 13 }, guess));
    // A throttled account costs no hash, and its attempts still count for the address.
    const guesses = Array.from({ length: 60 }, guess);
    const responses = await Promise.all([...guesses, owner.submit({ username: "alice", password })]);
    expect(responses.at(-1)?.status).toBe(429);
    expect(locationOf(await owner.try(right))).toMatch(/consent\?f=/);
  });

  it("exhausting an address's attempts at passkeys leaves passwords", async () => {
    const stranger = await visit(home);
    const owner = await visit(home);
    await expectThrottled(await stranger.after(malformed, await owner.prepare(malformed)), 3);
    expect(locationOf(await owner.submit({ username: "alice", password }))).toMatch(/consent\?f=/);
  });
});
