/**
 * **Back-Channel Logout**, received over HTTP like an application: the checks of the certification suite's backchannel-rp-initiated-logout, and
 * repeated delivery to a failing receiver.
 *
 * @see https://openid.net/specs/openid-connect-backchannel-1_0.html
 */

import { decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../packages/edge-op/testing/person.ts";
import { Application } from "./fixtures/application.ts";
import { type LogoutReceiver, startLogoutReceiver } from "./fixtures/logout-receiver.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

const within = { timeout: 10_000, interval: 50 };
const receivers: LogoutReceiver[] = [];
let person: RegisteredPerson;

beforeAll(async () => {
  person = await registerPerson(fixtures);
});

afterAll(() => Promise.all(receivers.map((receiver) => receiver.stop())));

async function listen(...statuses: readonly [number, ...number[]]): Promise<LogoutReceiver> {
  const receiver = await startLogoutReceiver(...statuses);
  receivers.push(receiver);
  return receiver;
}

function register(receiver: LogoutReceiver, more: Readonly<Record<string, unknown>> = {}): Promise<Application> {
  return Application.register(fixtures, {
    backchannel_logout_uri: receiver.uri,
    backchannel_logout_session_required: true,
    ...more,
  });
}

async function leave(browser: Person, application: Application, idToken: string): Promise<void> {
  const page = await browser.openPage(application.logoutUrl({ id_token_hint: idToken }));
  expect(page.status).toBe(200);
}

async function logoutToken(receiver: LogoutReceiver): Promise<string> {
  await expect.poll(() => receiver.calls.length, within).toBeGreaterThan(0);
  return receiver.calls[0]!.form.get("logout_token")!;
}

describe("OpenID Connect Back-Channel Logout 1.0", () => {
  test("§2.5, §2.4: one form with one logout token, which contains the user, the session and the time, and no nonce", async () => {
    const receiver = await listen(200);
    const application = await register(receiver);
    const browser = person.browser();
    const { idToken, claims } = await application.signIn(browser);
    await leave(browser, application, idToken);

    const token = await logoutToken(receiver);
    const [call] = receiver.calls;
    expect([call!.method, call!.contentType]).toEqual(["POST", "application/x-www-form-urlencoded"]);
    expect([...call!.form.keys()]).toEqual(["logout_token"]);
    const { payload } = await application.verify(token, { typ: "logout+jwt" });
    const now = Date.now() / 1000;
    expect(payload).toEqual({
      iss: provider.issuer,
      aud: application.client.client_id,
      sub: person.sub,
      sid: claims["sid"],
      jti: expect.any(String),
      iat: expect.closeTo(now, -1),
      exp: expect.any(Number),
      events: { "http://schemas.openid.net/event/backchannel-logout": {} },
    });
    expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(120);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: "RS256", kid: expect.any(String) });
  });

  test("§2.6: signed like the client's ID tokens; the subject is the one that the client knows", async () => {
    const receiver = await listen(204);
    const application = await register(receiver, { id_token_signed_response_alg: "ES256", subject_type: "pairwise" });
    const browser = person.browser();
    const { idToken, claims } = await application.signIn(browser);
    expect(claims.sub).not.toBe(person.sub);
    await leave(browser, application, idToken);
    const token = await logoutToken(receiver);
    expect(decodeProtectedHeader(token).alg).toBe("ES256");
    expect((await application.verify(token)).payload).toMatchObject({ sub: claims.sub, sid: claims["sid"] });
  });

  test("OIDC Core §8.1: two sectors of one session share no sid, and each logout token has its own sector's", async () => {
    const browser = person.browser();
    const redirect_uri = "https://other.example.com/callback";
    const [here, there] = [await listen(200), await listen(200)];
    const pairwise = { subject_type: "pairwise" };
    const first = await register(here, pairwise);
    const second = await register(there, { ...pairwise, redirect_uris: [redirect_uri] });
    const open = await register(await listen(200));
    const { idToken, claims } = await first.signIn(browser);
    const signIn = await second.authorize(browser, { redirect_uri });
    const elsewhere = await second.readTokens(await second.redeem(signIn, { redirect_uri }));
    const plain = await open.signIn(browser);
    const sids = [claims["sid"], elsewhere.claims["sid"], plain.claims["sid"]];
    expect(new Set(sids).size).toBe(3);
    await leave(browser, first, idToken);
    const tokens = [claimsOf(await logoutToken(here)), claimsOf(await logoutToken(there))];
    expect(tokens.map(({ sid }) => sid)).toEqual([claims["sid"], elsewhere.claims["sid"]]);
    for (const token of tokens) expect(JSON.stringify(token)).not.toContain(String(plain.claims["sid"]));
  });

  test("§2.8: after a 5xx it is notified again, with the same jti, until a 200", async () => {
    const receiver = await listen(500, 200);
    const application = await register(receiver);
    const browser = person.browser();
    const { idToken } = await application.signIn(browser);
    await leave(browser, application, idToken);
    await expect.poll(() => receiver.calls.length, within).toBe(2);
    const [first, second] = receiver.calls.map(({ form }) => claimsOf(form.get("logout_token")!));
    expect(second!["jti"]).toBe(first!["jti"]);
    expect(second!["sid"]).toBe(first!["sid"]);
    expect(receiver.calls[1]!.atMs - receiver.calls[0]!.atMs).toBeGreaterThan(500);
  });

  test("each client of the session is notified, even if another fails; other clients are not", async () => {
    const failing = await listen(503);
    const healthy = await listen(200);
    const uninvolved = await listen(200);
    const browser = person.browser();
    const first = await register(failing);
    const second = await register(healthy);
    await register(uninvolved);
    const { idToken, claims } = await first.signIn(browser);
    await second.signIn(browser);
    await leave(browser, first, idToken);
    expect(claimsOf(await logoutToken(healthy))["sid"]).toBe(claims["sid"]);
    await expect.poll(() => failing.calls.length, within).toBeGreaterThanOrEqual(2);
    expect([healthy.calls.length, uninvolved.calls.length]).toEqual([1, 0]);
  });

  test("another user's sign-in in the same browser ends no session, and sends no logout token", async () => {
    const receiver = await listen(200);
    const application = await register(receiver);
    const browser = person.browser();
    const { idToken } = await application.signIn(browser);
    const other = await registerPerson(fixtures);
    const page = await browser.openPage(application.authorizationUrl({ prompt: "login" }));
    const credentials = { username: other.username, password: "a long enough password" };
    await browser.submit(page, { "sign-in": credentials });
    const silent = await application.authorize(browser, { prompt: "none", id_token_hint: idToken });
    expect(silent.authorizationResponse.has("code")).toBe(true);
    expect(receiver.calls.length).toBe(0);
  });

  test.each<readonly [string, (sub: string) => Promise<unknown>]>([
    ["suspends the user", (sub) => fixtures.admin.require("PATCH", `/users/${sub}`, { status: "suspended" })],
    [
      "sets a password",
      (sub) => fixtures.admin.require("PATCH", `/users/${sub}`, { password: "another long password" }),
    ],
    ["deletes the user", (sub) => fixtures.admin.require("DELETE", `/users/${sub}`)],
    ["revokes all grants of the user", (sub) => fixtures.admin.require("POST", "/revocations", { sub })],
  ])("ADR 16: an administrator who %s ends the sessions, whose clients are notified", async (_, change) => {
    const receiver = await listen(200);
    const application = await register(receiver);
    const someone = await registerPerson(fixtures);
    const sessions = [await application.signIn(someone.browser()), await application.signIn(someone.browser())];
    await change(someone.sub);
    await expect.poll(() => receiver.calls.length, within).toBe(2);
    const sids = receiver.calls.map(({ form }) => claimsOf(form.get("logout_token")!)["sid"]);
    expect(sids.toSorted()).toEqual(sessions.map(({ claims }) => claims["sid"]).toSorted());
  });

  test("ADR 16: a new password notifies the clients of every other session, not those of this browser", async () => {
    const receiver = await listen(200);
    const application = await register(receiver);
    const someone = await registerPerson(fixtures);
    const here = someone.browser();
    await application.signIn(here);
    const elsewhere = await application.signIn(someone.browser());
    const page = await here.openPage(`${provider.issuer}/account/password`);
    const chosen = "a longer password than before";
    await here.submit(page, { password: { current: "a long enough password", new: chosen, repeat: chosen } });
    expect(claimsOf(await logoutToken(receiver))["sid"]).toBe(elsewhere.claims["sid"]);
    // The session of this browser continues, and its client is notified when it ends.
    const again = await application.signIn(here);
    await leave(here, application, again.idToken);
    await expect.poll(() => receiver.calls.length, within).toBe(2);
    expect(claimsOf(receiver.calls[1]!.form.get("logout_token")!)["sid"]).toBe(again.claims["sid"]);
  });

  test("the same user signing in again keeps the sid, and no client is notified", async () => {
    const receiver = await listen(200);
    const application = await register(receiver);
    const browser = person.browser();
    const first = await application.signIn(browser);
    const again = await application.signIn(browser, { prompt: "login" });
    expect(again.claims["sid"]).toBe(first.claims["sid"]);
    await leave(browser, application, first.idToken);
    await logoutToken(receiver);
    expect(receiver.calls).toHaveLength(1);
  });
});
