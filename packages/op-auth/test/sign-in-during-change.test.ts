import { encodeBase64Url, sha256 } from "@edge-op/protocol/encoding/bytes";
import { cutOffUntilMs, recordNewest } from "@edge-op/shared/cut-offs/cut-offs";
import type { Opening } from "@edge-op/shared/sessions/session-rpc";
import { endUserSessions } from "@edge-op/shared/sessions/user-sessions";
import { controlPlaneName, parseOpaqueId } from "@edge-op/shared/storage/shard-address";
import { describe, expect, it, vi } from "vitest";
import { authEnv, type Browser, countRows, locationOf, origin, useDeployment } from "./fixtures/auth-fixtures.ts";
import { interrupted } from "./fixtures/interrupted-calls.ts";

/**
 * ADR 16: a sign-in during a change that ends every session of its user. Wherever the change is committed between the calls of the sign-in, and
 * wherever the Worker of the sign-in fails after that, the session ends in its object, which sends logout tokens to its clients.
 */

const { fixtures } = useDeployment();

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
  /** The sessions that were opened, with those of which the browser received no cookie. */
  readonly opened: readonly OpenedSession[];
}

/** Commits the change before the given call of the sign-in, kills its Worker before another, publishes, and waits for the alarm. */
async function signInDuringChange({ at, dies = Infinity, renews }: Case): Promise<Outcome> {
  let calls = 0;
  let isCounting = false;
  let version: number | undefined;
  const opened: OpenedSession[] = [];
  const browser: Browser = fixtures.browser(
    interrupted(async (call, given) => {
      if (call === "open") opened.push((given[0] as Opening).session);
      if (!isCounting || !(call.includes(" ") || call === "open" || call === "end")) return;
      calls += 1;
      if (calls === at) version = await commit();
      if (calls >= dies) throw new Error("killed");
    }),
  );
  if (renews) await browser.signInWhole();
  const page = locationOf(await browser.authorize({ prompt: "login" }));
  const html = await (await browser.get(page)).text();
  const form_token = /name="form_token" value="([^"]+)"/.exec(html)![1]!;
  isCounting = true;
  await browser.post(page, { form_token, username: "alice", password: "correct horse battery staple" });
  isCounting = false;
  // The isolate does not know the change yet, so the application may get a code.
  await browser.authorize();
  version ??= await commit();
  await plane().publish(operation, { version, listsSessions: true });
  await vi.waitUntil(async () => (await countRows("ending_sessions")) === 0, { timeout: 20_000, interval: 50 });
  return { calls, opened };
}

interface Case {
  readonly at: number;
  readonly dies?: number;
  readonly renews: boolean;
}

type OpenedSession = Pick<Opening["session"], "sid" | "key">;

async function isOpen({ sid, key }: OpenedSession): Promise<boolean> {
  const { generation, region, shard } = parseOpaqueId("ss", `ss.${sid}`)!.address;
  return (await authEnv.SESSION_STORE.getByName(`session:g${generation}:${region}:${shard}`).read(key)) !== undefined;
}

async function sessionOf(id: string): Promise<OpenedSession> {
  return { sid: id.slice("ss.".length), key: encodeBase64Url(await sha256(parseOpaqueId("ss", id)!.random)) };
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
    const { opened } = await signInDuringChange({ at, renews });
    for (const each of opened) expect(await isOpen(each)).toBe(false);
    expect(await countRows("user_sessions")).toBe(0);
  });

  // Two calls begin together.
  const deaths = everyCall.flatMap((at) => [at + 1, at + 2].map((dies) => ({ at, dies })));
  it.each(deaths)("ends if its Worker dies at call $dies after the change before call $at", async (death) => {
    const { opened } = await signInDuringChange({ ...death, renews });
    for (const each of opened) expect(await isOpen(each)).toBe(false);
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
  expect([await isOpen(await sessionOf(before)), await isOpen(await sessionOf(after))]).toEqual([false, true]);
  const rows = await authEnv.DB.prepare("SELECT sid FROM user_sessions").all<{ sid: string }>();
  expect(rows.results).toHaveLength(1);
  expect(rows.results[0]!.sid).not.toBe(sid);
  expect((await browser.get("/account")).status).toBe(200);
});
