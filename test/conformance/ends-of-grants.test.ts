/**
 * **Every way in which a session or a grant ends is a confirmed write** (docs/operating/confirmed-writes.md): an introspection that starts after the
 * response is inactive, also in an isolate with a lease. Revocation shards are slow here, so that an end that does not wait is detected.
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application } from "./fixtures/application.ts";
import { EndStage, elsewhere, ends, logOut, type Scene, sidOf, signInAsAnother, submitAt } from "./fixtures/ends.ts";
import { type FaultyProvider, startFaultyProvider } from "./fixtures/faulty-provider.ts";
import type { ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";

let provider: FaultyProvider;
let stage: EndStage;
let fixtures: ProviderFixtures;
let shared: Application;
let slow: Application;
let receiver: Server;

const slowRevocations = [{ className: "TokenRevocationStore", methods: ["revoke"], kind: "delay", ms: 250 }] as const;
const noRevocations = [{ className: "TokenRevocationStore", methods: ["revoke"], kind: "throw" }] as const;
/** The endpoint of {@link slow} responds after this time. */
const receiverMs = 2_300;

beforeAll(async () => {
  provider = await startFaultyProvider({ shape: inject("shape"), direct: true, extraIsolates: 1 });
  stage = await EndStage.on(provider);
  fixtures = stage.fixtures;
  shared = await Application.register(fixtures);
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

describe("protocols.md §2 I1: a grant has ended everywhere when the response is sent", () => {
  test.each(ends.flatMap((end) => end.kinds.map((kind) => ({ ...end, kind }))))(
    "$name: a grant of kind $kind",
    async ({ kind, only, run }) => {
      const scene = await stage.prepare(kind);
      await provider.setFaults(slowRevocations);
      await run(scene);
      const { application, tokens } = scene;
      await stage.expectEnded(tokens.accessToken);
      if (kind === "session" || only === "token") return;
      expect([400, 401]).toContain((await application.refresh(tokens.refreshToken)).status);
    },
  );

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
    await stage.warmUp(token);
    await provider.setFaults(slowRevocations);
    expect((await postForm(`${provider.origin}/token`, form)).status).toBe(400);
    await stage.expectEnded(token);
  });
});

describe("a logout", () => {
  test("again and again, without any fault", async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      const scene = await stage.prepare("session", shared);
      await logOut(scene);
      await stage.expectEnded(scene.tokens.accessToken);
    }
  });

  test("is not delayed by another client's slow back-channel endpoint in the same object", async () => {
    const others = await Promise.all([stage.prepare("session", slow), stage.prepare("session", slow)]);
    const scene = await stage.prepare("session", shared);
    await Promise.all(others.map(logOut));
    const startedAt = performance.now();
    await logOut(scene);
    expect(performance.now() - startedAt).toBeLessThan(receiverMs);
    await stage.expectEnded(scene.tokens.accessToken);
  });

  test("that no revocation shard accepts is 503 and signs the browser out; a repetition finishes it", async () => {
    const scene = await stage.prepare("session", shared);
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
    expect(await stage.isActive(tokens.accessToken)).toBe(true);
    await provider.setFaults(slowRevocations);
    const repeated = await browser.openPage("/logout");
    expect([repeated.status, textOf(repeated.html)]).toEqual([200, expect.stringContaining("You are signed out")]);
    await stage.expectEnded(tokens.accessToken);
    expect((await copy.openPage("/logout")).status).toBe(200);
    expect((await browser.send(`${provider.origin}/logout`)).headers.getSetCookie()).toEqual([
      expect.stringMatching(/^op-session=; .*Max-Age=0/),
    ]);
  });

  test("that the person confirmed and that is 503 can be confirmed again; each loads the front-channel URLs", async () => {
    const frontchannel_logout_uri = "https://app.example.com/frontchannel-logout";
    const scene = await stage.prepare("session", await Application.register(fixtures, { frontchannel_logout_uri }));
    const question = await scene.browser.openPage("/logout");
    await provider.setFaults(noRevocations);
    expect(((await scene.browser.submit(question)) as Page).status).toBe(503);
    await provider.setFaults([]);
    const page = (await scene.browser.submit(question)) as Page;
    expect(page.html).toContain(`<iframe src="${frontchannel_logout_uri}?`);
    await stage.expectEnded(scene.tokens.accessToken);
  });

  test.each([
    ["the Worker", "lose", "SessionStore", "end"],
    ["the session's object", "throw", "SessionStore", "end"],
    ["a revocation shard's reply", "lose", "TokenRevocationStore", "revoke"],
  ] as const)("during which %s is lost is finished by a repetition", async (_, kind, className, method) => {
    const scene = await stage.prepare("session", shared);
    await provider.setFaults([{ className, methods: [method], kind, times: 1 }, ...slowRevocations]);
    const first = await scene.browser.openPage(scene.application.logoutUrl({ id_token_hint: scene.tokens.idToken }));
    expect(first.status).toBe(503);
    expect((await scene.browser.openPage("/logout")).status).toBe(200);
    await stage.expectEnded(scene.tokens.accessToken);
  });
});

describe("a 503 elsewhere is finished by a repetition", () => {
  test("a logout of an account that is not the active one of the browser", async () => {
    const scene = await stage.prepare("session", shared);
    await signInAsAnother(scene);
    const url = scene.application.logoutUrl({ id_token_hint: scene.tokens.idToken });
    await provider.setFaults(noRevocations);
    expect((await scene.browser.openPage(url)).status).toBe(503);
    expect((await scene.browser.openPage(url)).status).toBe(503);
    await provider.setFaults(slowRevocations);
    expect((await scene.browser.openPage(url)).status).toBe(200);
    await stage.expectEnded(scene.tokens.accessToken);
  });

  test.each([
    ["a withdrawn consent", ({ application }: Scene) => `consents/remove?client_id=${application.client.client_id}`],
    ["the end of one other session", (scene: Scene) => `sessions/end?sid=${sidOf(scene)}`],
    ["the end of all other sessions", () => "sessions/end-others"],
  ])("%s", async (_, pathOf) => {
    const scene = await stage.prepare("session", shared);
    const browser = await elsewhere(scene);
    const path = `/account/${pathOf(scene)}`;
    await provider.setFaults(noRevocations);
    expect(((await browser.submit(await browser.openPage(path))) as Page).status).toBe(503);
    await provider.setFaults(slowRevocations);
    await submitAt(browser, path);
    await stage.expectEnded(scene.tokens.accessToken);
  });
});
