import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { cutOffUntilMs, recordNewest } from "@edge-op/shared/control/cut-offs";
import { controlPlaneName, parseOpaqueId } from "@edge-op/shared/storage/shard-address";
import { endUserSessions } from "@edge-op/shared/users/ending-sessions";
import { describe, expect, it, vi } from "vitest";
import { authEnv, type Browser, countRows, locationOf, origin, useDeployment } from "./fixtures/auth-fixtures.ts";

/**
 * ADR 16: a sign-in during a change that ends every session of its user. Wherever the change is committed between the calls of the sign-in, and
 * wherever the Worker of the sign-in fails after that, the session ends in its object, which sends logout tokens to its clients.
 */

const { fixtures } = useDeployment();

/** Waits before each D1 call, and before each call that changes a session in its object. */
function interrupted(before: () => Promise<void>): typeof authEnv {
  const actual = new WeakMap<object, D1PreparedStatement>();
  const calls = <T extends object>(target: T, names: readonly string[]): T =>
    new Proxy(target, {
      get(_, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        // The methods of a stub have no `bind`.
        if (!names.includes(String(name)))
          return (...given: unknown[]) => Reflect.apply(member, target, given) as unknown;
        return async (...given: unknown[]): Promise<unknown> => {
          await before();
          return Reflect.apply(member, target, given);
        };
      },
    });
  const statement = (target: D1PreparedStatement): D1PreparedStatement => {
    const proxy = calls(target, ["first", "all", "run"]);
    const bindable = new Proxy(proxy, {
      get: (_, name) =>
        name === "bind" ? (...values: unknown[]) => statement(target.bind(...values)) : Reflect.get(proxy, name),
    });
    actual.set(bindable, target);
    return bindable;
  };
  const database = new Proxy(authEnv.DB, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => statement(target.prepare(sql));
      if (name !== "batch") return Reflect.get(target, name);
      return async (statements: readonly D1PreparedStatement[]) => {
        await before();
        return target.batch(statements.map((each) => actual.get(each) ?? each));
      };
    },
  });
  const namespace = new Proxy(authEnv.SESSION_STORE, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name !== "get" && name !== "getByName") return member.bind(target);
      return (...given: unknown[]) => calls(Reflect.apply(member, target, given) as object, ["open", "renew", "end"]);
    },
  });
  return { ...authEnv, DB: database, SESSION_STORE: namespace };
}

const operation = "a new password";
const plane = () => authEnv.CONTROL_PLANE.getByName(controlPlaneName);

/** Commits a new password like an administrator. No isolate knows it before it is published. */
async function commit(): Promise<number> {
  const { DB } = authEnv;
  const atMs = Date.now();
  await plane().begin(operation, { kind: "sub", id: "alice", actor: "root", changedAtMs: atMs });
  const change = "INSERT INTO control_changes (kind, id, at_ms) VALUES ('user', 'alice', ?1) RETURNING version";
  const results = await DB.batch<{ version: number }>([
    ...endUserSessions(DB, "alice", { reason: "ended by an administrator", atMs }),
    DB.prepare(change).bind(atMs),
    recordNewest(DB, { key: "nb:sub:alice", untilMs: cutOffUntilMs(atMs) }),
  ]);
  return results[2]!.results[0]!.version;
}

interface Outcome {
  /** Number of calls of the sign-in. */
  readonly calls: number;
  /** The session ids that the browser received. */
  readonly ids: readonly string[];
}

/** Commits the change before the given call of the sign-in, kills its Worker before another, publishes, and waits for the alarm. */
async function signInDuringChange({ at, dies = Infinity, renews }: Case): Promise<Outcome> {
  let calls = 0;
  let isCounting = false;
  let version: number | undefined;
  const browser: Browser = fixtures.browser(
    interrupted(async () => {
      if (!isCounting) return;
      calls += 1;
      if (calls === at) version = await commit();
      if (calls >= dies) throw new Error("killed");
    }),
  );
  const ids: string[] = [];
  const noteId = () => ids.push(browser.cookies.get("__Host-op-session") ?? "");
  if (renews) {
    await browser.signInWhole();
    noteId();
  }
  const page = locationOf(await browser.authorize({ prompt: "login" }));
  const html = await (await browser.get(page)).text();
  const form_token = /name="form_token" value="([^"]+)"/.exec(html)![1]!;
  isCounting = true;
  await browser.post(page, { form_token, username: "alice", password: "correct horse battery staple" });
  isCounting = false;
  // The isolate does not know the change yet, so the application may get a code.
  await browser.authorize();
  noteId();
  version ??= await commit();
  await plane().publish(operation, { version, listsSessions: true });
  await vi.waitUntil(async () => (await countRows("ending_sessions")) === 0, { timeout: 20_000, interval: 50 });
  return { calls, ids };
}

interface Case {
  readonly at: number;
  readonly dies?: number;
  readonly renews: boolean;
}

async function isOpen(id: string): Promise<boolean> {
  const { address, random } = parseOpaqueId("ss", id)!;
  const stub = authEnv.SESSION_STORE.getByName(`session:g${address.generation}:${address.region}:${address.shard}`);
  return (await stub.read(encodeBase64Url(await sha256(random)))) !== undefined;
}

/** The calls of a sign-in, with those of a renewal. */
const most = 5;
const everyCall = Array.from({ length: most }, (_, index) => index + 1);

describe.each([
  ["a new session", false],
  ["a renewed session", true],
])("ADR 16: %s that is opened during a change", (_, renews) => {
  it("makes no more calls than are tested", async () => {
    const { calls } = await signInDuringChange({ at: Infinity, renews });
    expect(calls).toBeGreaterThanOrEqual(3);
    expect(calls).toBeLessThanOrEqual(most);
  });

  it.each(everyCall)("ends if the change is committed before call %i of the sign-in", async (at) => {
    const { ids } = await signInDuringChange({ at, renews });
    for (const id of ids.filter((each) => each !== "")) expect(await isOpen(id)).toBe(false);
    expect(await countRows("user_sessions")).toBe(0);
  });

  it.each(everyCall)("ends if its Worker dies at the call that follows the change before call %i", async (at) => {
    const { ids } = await signInDuringChange({ at, dies: at + 1, renews });
    for (const id of ids.filter((each) => each !== "")) expect(await isOpen(id)).toBe(false);
    expect(await countRows("user_sessions")).toBe(0);
  });
});

it("ADR 16: a correct password during a change that is not announced yet says that the account was changed", async () => {
  const browser = fixtures.browser();
  const page = locationOf(await browser.authorize());
  const version = await commit();
  const again = await browser.signIn(page);
  expect(again.status).toBe(400);
  expect(await again.text()).toContain("Your account was changed while you signed in.");
  await plane().publish(operation, { version, listsSessions: true });
  const location = new URL(locationOf(await browser.signIn(locationOf(await browser.authorize()))), origin);
  expect(location.pathname).toBe("/flow/consent");
});

it("ADR 16: signing in again with current credentials opens a new session, and the ending one ends", async () => {
  const browser = fixtures.browser();
  await browser.signInWhole();
  const before = browser.cookies.get("__Host-op-session")!;
  const { sid } = (await authEnv.DB.prepare("SELECT sid FROM user_sessions").first<{ sid: string }>())!;
  // Listed, but its object was not notified.
  await authEnv.DB.batch(endUserSessions(authEnv.DB, "alice", { reason: "password changed", atMs: Date.now() }));
  await browser.signIn(locationOf(await browser.authorize({ prompt: "login" })));
  const after = browser.cookies.get("__Host-op-session")!;
  expect([await isOpen(before), await isOpen(after)]).toEqual([false, true]);
  const rows = await authEnv.DB.prepare("SELECT sid FROM user_sessions").all<{ sid: string }>();
  expect(rows.results).toHaveLength(1);
  expect(rows.results[0]!.sid).not.toBe(sid);
  expect((await browser.get("/account")).status).toBe(200);
});
