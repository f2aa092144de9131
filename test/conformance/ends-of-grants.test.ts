/**
 * **Every way in which a session or a grant ends is a confirmed write** (docs/operating/confirmed-writes.md): an introspection that starts after the
 * response is inactive, also in an isolate with a lease. Revocation shards are slow here, so that an end that does not wait is detected.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, type Person, textOf } from "../../packages/edge-op/src/testing/person.ts";
import { Application, allScopes, type SignIn, type Tokens } from "./fixtures/application.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import { ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";

let provider: FaultyProvider;
let fixtures: ProviderFixtures;
let resourceServer: TestClient;
let application: Application;
let slow: Application;
let receiver: Server;

/** Puts all sessions from now on in one object, of a generation that {@link openSessions} opens. */
const openSessions = () =>
  fixtures.admin.require("POST", "/shards/generations", {
    store: "session",
    regions: { wnam: { shards: 1, hint: "wnam" } },
  });
const slowRevocations = [{ className: "TokenRevocationStore", methods: ["revoke"], kind: "delay", ms: 250 }] as const;
const noRevocations = [{ className: "TokenRevocationStore", methods: ["revoke"], kind: "throw" }] as const;
/** The endpoint of {@link slow} responds after this time. */
const receiverMs = 2_300;

beforeAll(async () => {
  provider = await startFaultyProvider({ shape: inject("shape"), direct: true, extraIsolates: 1 });
  fixtures = new ProviderFixtures(provider);
  await openSessions();
  resourceServer = await fixtures.resourceServer();
  application = await Application.register(fixtures);
  receiver = createServer((_, response) => void setTimeout(() => response.writeHead(200).end(), receiverMs));
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  slow = await Application.register(fixtures, { backchannel_logout_uri: `http://127.0.0.1:${port}/logout` });
});

afterEach(() => provider.setFaults([]));
afterAll(async () => {
  await provider.stop();
  receiver.closeAllConnections();
  receiver.close();
});

/** Introspects at an isolate that only introspects. */
async function isActive(token: string): Promise<boolean> {
  const { authorization } = resourceServer;
  const { status, body, text } = await postForm(`${isolate()}/introspect`, { token }, { authorization });
  if (status !== 200) throw new Error(`introspection: ${status} ${text}`);
  return body["active"] === true;
}

function isolate(): string {
  return provider.direct["op-management#2"]!;
}

/** Afterwards, the isolate has a lease and knows the token. */
async function warmUp(token: string): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) expect(await isActive(token)).toBe(true);
}

async function expectEnded(token: string): Promise<void> {
  const seen: boolean[] = [];
  for (let turn = 0; turn < 5; turn += 1) seen.push(await isActive(token));
  expect(seen).toEqual([false, false, false, false, false]);
}

interface Scene {
  readonly application: Application;
  readonly person: RegisteredPerson;
  /** Signed in at the application, with these tokens. */
  readonly browser: Person;
  readonly tokens: Tokens & SignIn;
}

async function prepare(scope = "openid", at = application): Promise<Scene> {
  const person = await registerPerson(fixtures);
  const browser = person.browser();
  const tokens = await at.signIn(browser, { scope });
  await warmUp(tokens.accessToken);
  return { application: at, person, browser, tokens };
}

/** Opens a page and submits its form; returns the next page. */
async function submitAt(browser: Person, path: string, inputs = {}): Promise<Page> {
  const page = (await browser.submit(await browser.openPage(path), inputs)) as Page;
  expect([page.status, textOf(page.html)]).toEqual([200, expect.any(String)]);
  return page;
}

async function elsewhere({ application, person }: Scene): Promise<Person> {
  const browser = person.browser();
  await application.signIn(browser);
  return browser;
}

const chosen = "a longer password than before";
const sidOf = ({ tokens }: Scene) => String(tokens.claims["sid"]);

/** Scopes with `offline_access`, whose grants outlive a session. */
const offline = allScopes;

const ends: readonly (readonly [string, (scene: Scene) => Promise<unknown>, string?])[] = [
  ["a logout with a hint", (scene) => logOut(scene)],
  ["a logout that the person confirms", ({ browser }) => submitAt(browser, "/logout")],
  [
    "the end of this session at the account page",
    (scene) => submitAt(scene.browser, `/account/sessions/end?sid=${sidOf(scene)}`),
  ],
  [
    "the end of one session from another browser",
    async (scene) => submitAt(await elsewhere(scene), `/account/sessions/end?sid=${sidOf(scene)}`),
  ],
  ["the end of all other sessions", async (scene) => submitAt(await elsewhere(scene), "/account/sessions/end-others")],
  ["another person's sign-in in the browser", (scene) => signInAsAnother(scene)],
  [
    "a sign-in of the same person that replaces the session",
    async ({ application, browser }) => {
      await openSessions();
      await application.signIn(browser, { prompt: "login" });
    },
  ],
  ["a withdrawn consent", (scene) => withdraw(scene)],
  ["a withdrawn consent to offline access", (scene) => withdraw(scene), offline],
  [
    "a new password, set by the person",
    async (scene) =>
      submitAt(await elsewhere(scene), "/account/password", {
        password: { current: "a long enough password", new: chosen, repeat: chosen },
      }),
  ],
  [
    "a new password, set by an administrator",
    ({ person }) => fixtures.admin.require("PATCH", `/users/${person.sub}`, { password: chosen }),
  ],
  [
    "a suspension of the user",
    ({ person }) => fixtures.admin.require("PATCH", `/users/${person.sub}`, { status: "suspended" }),
  ],
  ["a deletion of the user", ({ person }) => fixtures.admin.require("DELETE", `/users/${person.sub}`)],
  [
    "the end of one session by an administrator",
    (scene) => administer("DELETE", scene, `/sessions/${encodeURIComponent(sidOf(scene))}`),
  ],
  ["the end of all sessions by an administrator", (scene) => administer("DELETE", scene, "/sessions")],
  [
    "the end of a consent by an administrator",
    (scene) => administer("DELETE", scene, `/consents/${scene.application.client.client_id}`),
  ],
  ["the end of all consents by an administrator", (scene) => administer("DELETE", scene, "/consents"), offline],
  ["the end of one grant by an administrator", (scene) => endOnlyGrant(scene), offline],
  ["the end of all grants by an administrator", (scene) => administer("DELETE", scene, "/grants"), offline],
  [
    "a revocation of everything of the user",
    ({ person }) => fixtures.admin.require("POST", "/revocations", { sub: person.sub }),
  ],
  [
    "a revocation of everything of the client",
    ({ application }) => fixtures.admin.require("POST", "/revocations", { client_id: application.client.client_id }),
  ],
  [
    "a revocation of the refresh token",
    ({ application, tokens }) => revoke(application, tokens.refreshToken!),
    offline,
  ],
  ["a revocation of the access token", ({ application, tokens }) => revoke(application, tokens.accessToken)],
  [
    "a second redemption of the code",
    async ({ application, tokens }) => expect((await application.redeem(tokens)).status).toBe(400),
  ],
  [
    "a refresh token that is used again",
    async ({ application, tokens }) => {
      const second = await application.readTokens(await application.refresh(tokens.refreshToken));
      await application.readTokens(await application.refresh(second.refreshToken));
      expect((await application.refresh(tokens.refreshToken)).status).toBe(400);
    },
    offline,
  ],
];

function administer(method: string, { person }: Scene, path: string) {
  return fixtures.admin.require(method, `/users/${encodeURIComponent(person.sub)}${path}`);
}

async function endOnlyGrant(scene: Scene): Promise<void> {
  const { grants } = (await administer("GET", scene, "/grants")) as { grants: { grant_id: string }[] };
  expect(grants).toHaveLength(1);
  await administer("DELETE", scene, `/grants/${encodeURIComponent(grants[0]!.grant_id)}`);
}

async function logOut({ application, browser, tokens }: Scene): Promise<Page> {
  const page = await browser.openPage(application.logoutUrl({ id_token_hint: tokens.idToken }));
  expect([page.status, textOf(page.html)]).toEqual([200, expect.stringContaining("You are signed out")]);
  return page;
}

async function signInAsAnother({ application, browser }: Scene): Promise<void> {
  const { username } = await registerPerson(fixtures);
  const page = await browser.openPage(application.authorizationUrl({ prompt: "login" }));
  const next = await browser.submit(page, { "sign-in": { username, password: "a long enough password" } });
  expect(next).toMatchObject({ kind: "page", name: "consent", status: 200 });
}

function withdraw({ application, browser }: Scene): Promise<Page> {
  return submitAt(browser, `/account/consents/remove?client_id=${application.client.client_id}`);
}

async function revoke(at: Application, token: string): Promise<void> {
  expect((await fixtures.revoke(at.client, token)).status).toBe(200);
}

describe("protocols.md §2 I1: a grant has ended everywhere when the response is sent", () => {
  test.each(ends.map(([name, end, scope]) => ({ name, end, scope })))("$name", async ({ end, scope }) => {
    const scene = await prepare(scope, await Application.register(fixtures));
    await provider.setFaults(slowRevocations);
    await end(scene);
    await expectEnded(scene.tokens.accessToken);
  });

  test("a device code that is redeemed twice", async () => {
    const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
    const metadata = { client_name: "Television", token_endpoint_auth_method: "none", grant_types: [grant_type] };
    const { client_id } = await fixtures.client({ ...metadata, scope: "openid" });
    const begun = await postForm(`${provider.origin}/device_authorization`, { client_id, scope: "openid" });
    const browser = (await registerPerson(fixtures)).browser();
    const page = await browser.openPage(String(begun.body["verification_uri_complete"]));
    const confirmation = page.name === "sign-in" ? ((await browser.submit(page)) as Page) : page;
    await browser.submit(confirmation, { device: { decision: "allow" } });
    const form = { grant_type, device_code: String(begun.body["device_code"]), client_id };
    const { body } = await postForm(`${provider.origin}/token`, form);
    const token = String(body["access_token"]);
    await warmUp(token);
    await provider.setFaults(slowRevocations);
    expect((await postForm(`${provider.origin}/token`, form)).status).toBe(400);
    await expectEnded(token);
  });
});

describe("a logout", () => {
  test("again and again, without any fault", async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const scene = await prepare();
      await logOut(scene);
      await expectEnded(scene.tokens.accessToken);
    }
  });

  test("is not delayed by another client's slow back-channel endpoint in the same object", async () => {
    const others = await Promise.all([prepare("openid", slow), prepare("openid", slow)]);
    const scene = await prepare();
    await Promise.all(others.map(logOut));
    const startedAt = performance.now();
    await logOut(scene);
    expect(performance.now() - startedAt).toBeLessThan(receiverMs);
    await expectEnded(scene.tokens.accessToken);
  });

  test("that no revocation shard accepts is 503 and signs the browser out; a repetition finishes it", async () => {
    const scene = await prepare();
    const { application, browser, tokens } = scene;
    const copy = browser.copy();
    await provider.setFaults(noRevocations);
    const url = application.logoutUrl({ id_token_hint: tokens.idToken });
    const refused = await browser.send(url);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(refused.headers.getSetCookie()).toEqual([expect.stringMatching(/^op-session=ending\.[\w-]+; /)]);
    // Neither the reference nor the session's id opens the session.
    for (const each of [browser, copy]) expect((await each.openPage("/account")).name).toBe("sign-in");
    for (const each of [browser, copy]) expect((await each.openPage("/logout")).status).toBe(503);
    expect(await isActive(tokens.accessToken)).toBe(true);
    await provider.setFaults(slowRevocations);
    const repeated = await browser.openPage("/logout");
    expect([repeated.status, textOf(repeated.html)]).toEqual([200, expect.stringContaining("You are signed out")]);
    await expectEnded(tokens.accessToken);
    expect((await copy.openPage("/logout")).status).toBe(200);
    expect((await browser.send(`${provider.origin}/logout`)).headers.getSetCookie()).toEqual([
      expect.stringMatching(/^op-session=; .*Max-Age=0/),
    ]);
  });

  test("that the person confirmed and that is 503 can be confirmed again; each loads the front-channel URLs", async () => {
    const frontchannel_logout_uri = "https://app.example.com/frontchannel-logout";
    const scene = await prepare("openid", await Application.register(fixtures, { frontchannel_logout_uri }));
    const question = await scene.browser.openPage("/logout");
    await provider.setFaults(noRevocations);
    expect(((await scene.browser.submit(question)) as Page).status).toBe(503);
    await provider.setFaults([]);
    const page = (await scene.browser.submit(question)) as Page;
    expect(page.html).toContain(`<iframe src="${frontchannel_logout_uri}?`);
    await expectEnded(scene.tokens.accessToken);
  });

  test.each([
    ["the Worker", "lose", "SessionStore", "end"],
    ["the session's object", "throw", "SessionStore", "end"],
    ["a revocation shard's reply", "lose", "TokenRevocationStore", "revoke"],
  ] as const)("during which %s is lost is finished by a repetition", async (_, kind, className, method) => {
    const scene = await prepare();
    await provider.setFaults([{ className, methods: [method], kind, times: 1 }, ...slowRevocations]);
    const first = await scene.browser.openPage(scene.application.logoutUrl({ id_token_hint: scene.tokens.idToken }));
    expect(first.status).toBe(503);
    expect((await scene.browser.openPage("/logout")).status).toBe(200);
    await expectEnded(scene.tokens.accessToken);
  });
});

describe("a 503 elsewhere is finished by a repetition", () => {
  test("another person's sign-in", async () => {
    const scene = await prepare();
    const { username } = await registerPerson(fixtures);
    const inputs = { "sign-in": { username, password: "a long enough password" } };
    const { browser } = scene;
    const url = scene.application.authorizationUrl({ prompt: "login" });
    await provider.setFaults(noRevocations);
    expect(((await browser.submit(await browser.openPage(url), inputs)) as Page).status).toBe(503);
    expect(((await browser.submit(await browser.openPage(url), inputs)) as Page).status).toBe(503);
    await provider.setFaults(slowRevocations);
    expect(await browser.submit(await browser.openPage(url), inputs)).toMatchObject({ name: "consent", status: 200 });
    await expectEnded(scene.tokens.accessToken);
  });

  test.each([
    ["a withdrawn consent", ({ application }: Scene) => `consents/remove?client_id=${application.client.client_id}`],
    ["the end of one other session", (scene: Scene) => `sessions/end?sid=${sidOf(scene)}`],
    ["the end of all other sessions", () => "sessions/end-others"],
  ])("%s", async (_, pathOf) => {
    const scene = await prepare();
    const browser = await elsewhere(scene);
    const path = `/account/${pathOf(scene)}`;
    await provider.setFaults(noRevocations);
    expect(((await browser.submit(await browser.openPage(path))) as Page).status).toBe(503);
    await provider.setFaults(slowRevocations);
    await submitAt(browser, path);
    await expectEnded(scene.tokens.accessToken);
  });
});
