/** **The flow in a page, attacked**: copies of old pages, of other browsers, of other steps; and the pure decisions behind it. */

import { authenticationOf, findAuthentication, type ProofMethod } from "@edge-op/protocol/oauth/authentication-context";
import { formBody, receiveRequest } from "@edge-op/shared/http/received-request";
import type { Proof } from "@edge-op/shared/sessions/session-rpc";
import { describe, expect, it, vi } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import { submitStep } from "../src/flow/serve-step.ts";
import { nextStep } from "../src/flow/steps.ts";
import { isOwnPath } from "../src/step/flow.ts";
import { newFlow, pathOf } from "../src/step/sealed-flow.ts";
import type { Policy, Step } from "../src/step/step.ts";
import {
  AuthFixtures,
  authEnv,
  authorizationPath,
  type Browser,
  codeClient,
  contextOf,
  countRows,
  formTokenOf,
  locationOf,
  origin,
  password,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";

const { fixtures, browser } = useDeployment();

const form = { "content-type": "application/x-www-form-urlencoded" };
const essential = (acr: string) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values: [acr] } } }),
});

/** Posts a form without following the redirect. */
function postOnce(visitor: Browser, path: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  return visitor.once(path, { method: "POST", headers: form, body: new URLSearchParams(fields).toString() });
}

async function tokenOf(page: string, visitor = browser): Promise<string> {
  return formTokenOf(await (await visitor.get(page)).text());
}

function parameterOf(page: string): string {
  return new URL(page, origin).searchParams.get("f")!;
}

async function signOut(visitor: Browser): Promise<void> {
  const html = await (await visitor.get("/logout")).text();
  await visitor.post("/logout/confirm", { form_token: formTokenOf(html), decision: "leave" });
}

describe("RFC 9110 §15.4.4: every form is answered with a redirect", () => {
  it("a wrong password leads to its page, which can be loaded again, and names no password", async () => {
    const page = locationOf(await browser.authorize());
    const fields = { form_token: await tokenOf(page), username: "alice", password: "not the password" };
    const again = locationOf(await postOnce(browser, page, fields));
    expect(stepOf(again)).toBe("sign-in");
    for (let load = 0; load < 2; load += 1) {
      const shown = await browser.get(again);
      expect(shown.status).toBe(400);
      const html = await shown.text();
      expect(html).toContain("do not match");
      expect(html).toContain('value="alice"');
      expect(html).not.toContain("not the password");
    }
  });

  it("a throttled page says for how long, and no longer when the time has passed", async () => {
    const page = locationOf(await browser.authorize());
    const fields = { form_token: await tokenOf(page), username: "alice", password: "guess" };
    await Promise.all(Array.from({ length: 10 }, () => postOnce(browser, page, fields)));
    const again = locationOf(await postOnce(browser, page, fields));
    expect((await browser.get(again)).status).toBe(429);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    const later = await browser.get(again);
    expect([later.status, later.headers.get("retry-after")]).toEqual([200, null]);
  });
});

describe("a flow of more than half an hour", () => {
  it("offers to continue to the application: the same request, without what was proven", async () => {
    const page = locationOf(await browser.authorize({ prompt: "login" }));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31 * 60_000 });
    const expired = await browser.get(page);
    expect(expired.status).toBe(400);
    const html = await expired.text();
    expect(html).toContain("Continue to Example App");
    const restart = /href="(\/flow\/restart[^"]+)"/.exec(html)![1]!;
    const again = locationOf(await browser.get(restart));
    expect(stepOf(again)).toBe("sign-in");
    const answer = sentToClient(await browser.allow(locationOf(await browser.signIn(again))));
    expect(answer).toMatchObject({ code: expect.any(String), state: "the-state" });
  });

  it("a posted form of it signs nobody in", async () => {
    const page = locationOf(await browser.authorize());
    const fields = { form_token: await tokenOf(page), username: "alice", password };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31 * 60_000 });
    expect((await postOnce(browser, page, fields)).status).toBe(400);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("cannot begin again after a day", async () => {
    const f = parameterOf(locationOf(await browser.authorize()));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 24 * 3_600_000 + 1_000 });
    const response = await browser.get(`/flow/restart?f=${f}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('<a class="button quiet" href="/">');
  });

  it("does not begin again for a client that was disabled meanwhile", async () => {
    const f = parameterOf(locationOf(await browser.authorize()));
    await authEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'app'").run();
    const { keys } = await authEnv.CACHE.list();
    await Promise.all(keys.map(({ name }) => authEnv.CACHE.delete(name)));
    const elsewhere = new AuthFixtures(fixtures.client).copyOf(browser);
    const refused = await elsewhere.get(`/flow/restart?f=${f}`);
    expect([refused.status, refused.headers.get("location")]).toEqual([400, null]);
  });
});

describe("an old or foreign page", () => {
  it("session fixation: `f` of another browser is refused at every step, also to begin again", async () => {
    const attacker = fixtures.browser();
    const page = locationOf(await attacker.authorize());
    const f = parameterOf(page);
    const form_token = await tokenOf(page, attacker);
    await browser.authorize();
    for (const path of ["sign-in", "select-account", "consent", "restart"]) {
      expect((await browser.get(`/flow/${path}?f=${f}`)).status, path).toBe(400);
    }
    expect((await postOnce(browser, "/flow/sign-in", { f, form_token, username: "alice", password })).status).toBe(400);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("of a flow that has ended, or whose session was signed out, opens no session, even with the right password", async () => {
    const page = locationOf(await browser.authorize());
    const form_token = await tokenOf(page);
    const consent = locationOf(await browser.signIn(page));
    await browser.allow(consent);
    await signOut(browser);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    const late = await browser.post(page, { form_token, username: "alice", password });
    expect(await late.text()).toContain("You are already signed in");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    // The proof in the page of the consent is not a session.
    const [, restart] = /^(\/flow\/restart\?.+)$/.exec(locationOf(await browser.get(consent)))!;
    expect(stepOf(locationOf(await browser.get(restart!)))).toBe("sign-in");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(await countRows("user_sessions")).toBe(0);
  });

  it("RFC 9700 §4.7: its form token is good for no other step and no other flow", async () => {
    await browser.signInWhole();
    const select = locationOf(await browser.authorize({ prompt: "select_account" }));
    const consent = locationOf(await browser.authorize({ prompt: "consent" }));
    const form_token = await tokenOf(select);
    const stolen = { f: parameterOf(consent), form_token, decision: "allow" };
    expect((await postOnce(browser, "/flow/consent", stolen)).status).toBe(403);
    const other = { f: parameterOf(select), form_token, decision: "allow" };
    expect((await postOnce(browser, "/flow/consent", other)).status).toBe(403);
    expect((await postOnce(browser, "/flow/consent", { f: parameterOf(consent), decision: "allow" })).status).toBe(403);
  });

  it("a consent that was shown to one person is given by nobody else who signed in meanwhile", async () => {
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    const form_token = await tokenOf(consent);
    await browser.signIn(locationOf(await browser.authorize({ prompt: "login" })), "bob");
    const fields = { f: parameterOf(consent), form_token, decision: "allow" };
    const { code } = sentToClient(await postOnce(browser, "/flow/consent", fields));
    // Alice is still signed in, and the flow is hers.
    expect((await fixtures.payloadOf(code!)).sub).toBe("alice");
    const { results } = await authEnv.DB.prepare("SELECT sub FROM consents").all();
    expect(results).toEqual([{ sub: "alice" }]);
  });

  it("of someone who was signed in before the password was changed leads to a new sign-in", async () => {
    const consent = locationOf(await browser.signIn(locationOf(await browser.authorize())));
    const elsewhere = fixtures.browser();
    await elsewhere.signIn(locationOf(await elsewhere.get("/account")));
    const chosen = "a new and longer password";
    const fields = { current: password, new: chosen, repeat: chosen };
    const form_token = await tokenOf("/account/password", elsewhere);
    await elsewhere.post("/account/password", { form_token, ...fields });
    expect(locationOf(await browser.get(consent))).toMatch(/^\/flow\/restart\?/);
  });

  it("the policy is computed anew: beginning again does not lose an essential acr", async () => {
    const page = locationOf(await browser.authorize(essential("phr")));
    const again = locationOf(await browser.get(`/flow/restart?f=${parameterOf(page)}`));
    expect(await (await browser.get(again)).text()).not.toContain('name="password"');
    expect((await browser.signIn(again)).status).toBe(400);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("a browser that is known by its password is asked for the essential acr nevertheless", async () => {
    await browser.signInWhole();
    await signOut(browser);
    expect(browser.cookies.has("__Host-op-known")).toBe(true);
    const page = locationOf(await browser.authorize(essential("phr")));
    expect(await (await browser.get(page)).text()).toContain("Example App requires a passkey.");
  });

  it("a request of more than 6 KiB is stored, and works like any other", async () => {
    const state = "s".repeat(4096);
    const page = locationOf(await browser.authorize({ state, nonce: "n".repeat(1024) }));
    expect(parameterOf(page)).toMatch(/^ch\./);
    expect(page.length).toBeLessThan(200);
    const consent = locationOf(await browser.signIn(page));
    expect(sentToClient(await browser.allow(consent))).toMatchObject({ code: expect.any(String), state });
  });
});

describe("a step", () => {
  it("cannot add the proof of another step", async () => {
    const context = contextOf();
    const page = locationOf(await browser.authorize());
    const body = new URLSearchParams({ f: parameterOf(page), form_token: await tokenOf(page) });
    const cookie = `__Host-op-browser=${browser.cookies.get("__Host-op-browser")}`;
    const posted = new Request(`${origin}/flow/sign-in`, { method: "POST", headers: { cookie }, body });
    const request = await receiveRequest(posted, formBody, { waitUntil: () => {} });
    const proof: Proof = { method: "password", sub: "alice", atMs: Date.now(), controlVersion: 0 };
    const step: Step = {
      name: "sign-in",
      methods: [],
      isForPerson: false,
      writes: false,
      state: () => ({ kind: "done" }),
      page: async () => new Response(),
      submit: async () => ({ kind: "done", proofs: [proof] }),
    };
    const at = { context, isolate: fixtures.isolate, request };
    await expect(submitStep(at, step)).rejects.toThrow("the step sign-in added a proof by password");
    expect(await countRows("user_sessions")).toBe(0);
  });

  it.each(["//evil.example", "/\\evil.example", "https://evil.example", "evil", ""])(
    "RFC 9700 §4.11: a sign-in does not return to %s",
    async (path) => {
      expect(isOwnPath(path)).toBe(false);
      const context = contextOf();
      await browser.authorize();
      const cookie = `__Host-op-browser=${browser.cookies.get("__Host-op-browser")}`;
      const request = { headers: new Headers({ cookie }) } as Parameters<typeof submitStep>[0]["request"];
      const at = { context, isolate: fixtures.isolate, request };
      const { identifyBrowser } = await import("@edge-op/pages/cookies");
      const own = await identifyBrowser(context, request);
      const page = await pathOf(at, await newFlow(at, { kind: "account", path }), own, "sign-in");
      expect((await browser.get(page)).status).toBe(500);
    },
  );

  it("own paths are those of this origin", () => {
    expect(["/account", "/", "/device?user_code=x"].every(isOwnPath)).toBe(true);
  });
});

describe("OIDC Core §2: acr, amr and auth_time are computed from proofs", () => {
  const codeOf = (response: Response) => fixtures.payloadOf(sentToClient(response).code!);

  async function signInByPasskey(parameters: Record<string, string>, passkey: SoftwarePasskey): Promise<Response> {
    const page = locationOf(await browser.authorize(parameters));
    const html = await (await browser.get(page)).text();
    return browser.post(page, { form_token: formTokenOf(html), credential: await passkey.assert(html) });
  }

  it("§5.5.1.1: a passkey satisfies mfa, and the client gets the value that it required", async () => {
    await browser.signInWhole();
    const passkey = await SoftwarePasskey.register("alice");
    expect(sentToClient(await browser.authorize({ ...essential("mfa"), prompt: "none" })).error).toBe("login_required");
    const payload = await codeOf(await signInByPasskey(essential("mfa"), passkey));
    expect(payload).toMatchObject({ acr: "mfa", amr: ["hwk", "user", "mfa"] });
    expect(await codeOf(await browser.authorize({ ...essential("phr"), prompt: "none" }))).toMatchObject({
      acr: "phr",
    });
  });

  it("a step-up keeps the sid, changes the cookie, and leaves the earlier proof valid", async () => {
    const before = await fixtures.payloadOf((await browser.signInWhole()).get("code")!);
    const cookie = browser.cookies.get("__Host-op-session");
    const after = await codeOf(await signInByPasskey(essential("phr"), await SoftwarePasskey.register("alice")));
    expect(after.sid).toBe(before.sid);
    expect(browser.cookies.get("__Host-op-session")).not.toBe(cookie);
    const byPassword = essential("urn:edge-op:acr:password");
    expect(await codeOf(await browser.authorize({ ...byPassword, prompt: "none" }))).toMatchObject({ amr: ["pwd"] });
  });

  it("max_age and prompt=login: the context is that of a proof which is recent enough, not of a stronger old one", async () => {
    await browser.signInWhole();
    await signInByPasskey(essential("phr"), await SoftwarePasskey.register("alice"));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    const nowSeconds = Math.floor(Date.now() / 1000);
    for (const parameters of [{ max_age: "60" }, { prompt: "login" }]) {
      const page = locationOf(await browser.authorize(parameters));
      const payload = await codeOf(await browser.signIn(page));
      expect(payload.acr).toBe("urn:edge-op:acr:password");
      expect(payload.authTimeSeconds).toBeGreaterThanOrEqual(nowSeconds);
    }
    expect(await codeOf(await browser.authorize({ prompt: "none" }))).toMatchObject({ acr: "phr" });
  });

  it("NIST SP 800-63B-4 §4.1.2.1: a fresh password does not renew an old passkey's proof for changes of credentials", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await browser.signInWhole();
    await signInByPasskey(essential("phr"), passkey);
    expect(await (await browser.get("/account/password")).text()).not.toContain('name="current"');
    expect(await (await browser.get("/account/security")).text()).toContain('data-passkey="create"');
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 660_000 });
    await browser.signIn(locationOf(await browser.authorize({ prompt: "login" })));
    expect(await (await browser.get("/account/password")).text()).toContain('name="current"');
    expect(await (await browser.get("/account/security")).text()).not.toContain('data-passkey="create"');
  });

  const proof = (method: ProofMethod, atMs: number): Proof => ({ method, sub: "alice", atMs, controlVersion: 0 });

  it("NIST SP 800-63B-4 §3.1.3.1: two proofs by one method are not two factors, and mailed codes satisfy nothing beside them", () => {
    const passwords = [proof("password", 1), proof("password", 2)];
    expect(findAuthentication(passwords, ["mfa"])).toBeUndefined();
    expect(authenticationOf(passwords)).toEqual({ acr: "urn:edge-op:acr:password", amr: ["pwd"], atMs: 2 });
    const mailed = [proof("mailedCode" as ProofMethod, 3), proof("mailedCode" as ProofMethod, 4)];
    expect(findAuthentication(mailed, ["phr", "mfa", "urn:edge-op:acr:password"])).toBeUndefined();
    expect(authenticationOf([...passwords, ...mailed])).toEqual(authenticationOf(passwords));
  });

  it("a password and a code are two factors, as old as the older; a code alone is none", () => {
    const both = [proof("password", 1), proof("totp", 3)];
    expect(authenticationOf(both)).toEqual({ acr: "mfa", amr: ["pwd", "otp", "mfa"], atMs: 1 });
    expect(findAuthentication(both, ["mfa"], 2)).toBeUndefined();
    expect(authenticationOf(both, { wanted: ["urn:edge-op:acr:password"] })).toMatchObject({ amr: ["pwd"], atMs: 1 });
    expect(findAuthentication([proof("totp", 1), proof("recoveryCode", 1)], undefined)).toBeUndefined();
    expect(findAuthentication([proof("password", 1), proof("recoveryCode", 1)], ["mfa"])).toBeDefined();
    expect(findAuthentication(both, ["phr"])).toBeUndefined();
  });

  it("a password does not satisfy mfa or phr, and a passkey is no password", () => {
    expect(findAuthentication([proof("password", 1)], ["mfa", "phr"])).toBeUndefined();
    expect(findAuthentication([proof("syncedPasskey", 1)], ["urn:edge-op:acr:password"])).toBeUndefined();
    expect(findAuthentication([proof("syncedPasskey", 1)], ["mfa"])?.amr).toEqual(["swk", "user", "mfa"]);
  });

  it("the wanted value is named if a proof satisfies it, otherwise that of the strongest", () => {
    const proofs = [proof("password", 5), proof("boundPasskey", 1)];
    expect(authenticationOf(proofs)).toMatchObject({ acr: "phr", atMs: 1 });
    expect(authenticationOf(proofs, { wanted: ["mfa"] })).toMatchObject({ acr: "mfa", atMs: 1 });
    expect(authenticationOf(proofs, { wanted: ["unknown"] })).toMatchObject({ acr: "phr" });
    expect(authenticationOf(proofs, { sinceMs: 4 })).toMatchObject({ acr: "urn:edge-op:acr:password", atMs: 5 });
  });
});

describe("the next step", () => {
  const policy: Policy = {
    ...{ prompt: [], maxAgeSeconds: undefined, requiredAcr: undefined, preferredAcr: undefined },
    ...{
      expectedSubject: undefined,
      consent: "remembered",
      secondFactor: "if set up",
      confirmsBrowsers: false,
      recoversByAddress: false,
      mfaRoles: [],
      asked: ["openid"],
    },
  };
  const authorize = { kind: "authorize", parameters: [] } as const;
  const flow = { purpose: authorize, proofs: [], marks: {} };
  const now = 1_000_000;
  const old: Proof = { method: "password", sub: "alice", atMs: 0, controlVersion: 0 };
  const person = { sub: "alice", subject: "alice", proofs: [old], roles: ["admin"], isLeaving: false };
  const fresh = { ...flow, proofs: [{ ...old, atMs: now }] };
  const none = {
    totp: false,
    recoveryCodes: false,
    passkeys: false,
    password: true,
    providers: [] as string[],
    epoch: 0,
  };
  const known = { factors: none, isRemembered: false };
  const nobody = { ...known, person: undefined, allowed: [] };
  const asked = { ...known, person, allowed: [] };
  const allowed = { ...known, person, allowed: ["openid"] };

  const inOrganizations = (...ids: string[]) => ({
    ...allowed,
    organizations: ids.map((orgId) => ({ orgId, name: orgId })),
  });
  const chosenBy = (sub: string) => ({ ...flow, purpose: { ...authorize, organization: { orgId: "a", sub } } });

  const app = { ...none, totp: true };
  const withApp = { ...allowed, factors: app };
  const withPasskey = { ...allowed, factors: { ...none, passkeys: true } };
  const remembered = { ...withApp, isRemembered: true };
  const recently = (factors: typeof none) => ({
    ...allowed,
    factors,
    person: { ...person, proofs: [{ ...old, atMs: now }] },
  });
  const code = (atMs: number): Proof => ({ ...old, method: "totp", atMs });
  const both = (codeAtMs: number, passwordAtMs = 0) => ({
    ...withApp,
    person: { ...person, proofs: [{ ...old, atMs: passwordAtMs }, code(codeAtMs)] },
  });
  const freshly = { ...flow, proofs: [{ ...old, atMs: now }] };
  const mailbox: Proof = { ...old, method: "mailedCode", atMs: now };
  const recovering = { ...flow, proofs: [mailbox] };
  const byMailbox = { ...allowed, person: { ...person, proofs: [mailbox] } };
  const onlyPasskeys = { ...none, passkeys: true, password: false };
  const onlyIdentities = { ...none, providers: ["idp"], password: false };
  const codeAlone = { ...withApp, person: { ...person, proofs: [code(now)] } };

  type Input = readonly [Parameters<typeof nextStep>[0], Parameters<typeof nextStep>[1], Partial<Policy>];

  it.each<readonly [string, ...Input, string]>([
    ["nobody", flow, nobody, {}, "sign-in"],
    ["a mailbox: a new password", recovering, byMailbox, {}, "set-password"],
    ["a mailbox, beside an older session", recovering, allowed, {}, "set-password"],
    [
      "a mailbox, for a client that requires two factors",
      recovering,
      byMailbox,
      { secondFactor: "always" },
      "set-password",
    ],
    ["a mailbox, with an app", recovering, { ...byMailbox, factors: app }, {}, "prove-more"],
    ["a mailbox, of factors that are not known", recovering, { ...byMailbox, factors: undefined }, {}, "prove-more"],
    ["a mailbox, with a remembered browser", recovering, { ...remembered, person: byMailbox.person }, {}, "prove-more"],
    [
      "a mailbox, with a passkey and a password",
      recovering,
      { ...byMailbox, factors: { ...none, passkeys: true } },
      {},
      "set-password",
    ],
    [
      "a mailbox, of an upstream provider's person",
      recovering,
      { ...byMailbox, factors: onlyIdentities },
      {},
      "prove-more",
    ],
    [
      "a mailbox, with no way in",
      recovering,
      { ...byMailbox, factors: { ...none, password: false } },
      {},
      "set-password",
    ],
    ["a mailbox, with passkeys alone", recovering, { ...byMailbox, factors: onlyPasskeys }, {}, "prove-more"],
    [
      "a mailbox and a code",
      { ...flow, proofs: [mailbox, code(now)] },
      { ...byMailbox, factors: app },
      {},
      "set-password",
    ],
    [
      "a mailbox and somebody else's code",
      { ...flow, proofs: [mailbox, { ...code(now), sub: "bob" }] },
      { ...byMailbox, factors: app },
      {},
      "prove-more",
    ],
    [
      "two mailboxes are one",
      { ...flow, proofs: [mailbox, mailbox] },
      { ...byMailbox, factors: app },
      {},
      "prove-more",
    ],
    ["nobody, silently", flow, nobody, { prompt: ["none"] }, "login_required"],
    ["a person who has allowed it", flow, allowed, {}, "finish"],
    ["a person who has not", flow, asked, {}, "consent"],
    ["the same, silently", flow, asked, { prompt: ["none"] }, "consent_required"],
    ["a first-party client", flow, asked, { consent: "never" }, "finish"],
    ["a first-party client on the device", flow, asked, { consent: "unless just signed in" }, "consent"],
    ["the same after a sign-in", fresh, asked, { consent: "unless just signed in" }, "finish"],
    ["a payment", flow, allowed, { consent: "each time" }, "consent"],
    [
      "the same, allowed just now",
      { ...flow, marks: { consentedBy: "alice" } },
      allowed,
      { consent: "each time" },
      "finish",
    ],
    [
      "allowed by someone else",
      { ...flow, marks: { consentedBy: "bob" } },
      allowed,
      { consent: "each time" },
      "consent",
    ],
    ["prompt=login", flow, allowed, { prompt: ["login"] }, "sign-in"],
    ["prompt=login after a sign-in", fresh, allowed, { prompt: ["login"] }, "finish"],
    [
      "prompt=login after someone else's",
      { ...fresh, proofs: [{ ...old, sub: "bob" }] },
      allowed,
      { prompt: ["login"] },
      "sign-in",
    ],
    ["prompt=select_account", flow, allowed, { prompt: ["select_account"] }, "select-account"],
    [
      "the same, selected",
      { ...flow, marks: { accountSelected: true } },
      allowed,
      { prompt: ["select_account"] },
      "finish",
    ],
    ["another account", { ...flow, marks: { otherAccount: true } }, allowed, {}, "sign-in"],
    ["an old sign-in with max_age", flow, allowed, { maxAgeSeconds: 60 }, "sign-in"],
    ["a young one", flow, allowed, { maxAgeSeconds: 2_000 }, "finish"],
    ["a preferred acr", flow, withPasskey, { preferredAcr: ["phr"] }, "sign-in"],
    ["a preferred acr, silently", flow, withPasskey, { preferredAcr: ["phr"], prompt: ["none"] }, "finish"],
    ["a preferred acr out of reach", flow, allowed, { preferredAcr: ["phr"] }, "finish"],
    [
      "a preferred acr out of reach, with max_age",
      flow,
      allowed,
      { preferredAcr: ["phr"], maxAgeSeconds: 60 },
      "sign-in",
    ],
    ["a preferred acr that was not reached", fresh, allowed, { preferredAcr: ["phr"] }, "finish"],
    ["an essential acr", flow, allowed, { requiredAcr: ["mfa"] }, "sign-in"],
    [
      "an essential acr that was not reached",
      fresh,
      allowed,
      { requiredAcr: ["phr"] },
      "unmet_authentication_requirements",
    ],
    ["two factors, of a person who has one", flow, allowed, { requiredAcr: ["mfa"] }, "sign-in"],
    ["the same, whose password was proven just now", fresh, recently(none), { requiredAcr: ["mfa"] }, "enrol"],
    ["two factors, of a person who has two", flow, withApp, { requiredAcr: ["mfa"] }, "prove-more"],
    ["the same, silently", flow, withApp, { requiredAcr: ["mfa"], prompt: ["none"] }, "login_required"],
    ["NIST §5.1: a remembered browser is no factor", flow, remembered, { requiredAcr: ["mfa"] }, "prove-more"],
    ["RFC 9470 §4: two factors preferred", flow, withApp, { preferredAcr: ["mfa"] }, "prove-more"],
    ["the same, silently", flow, withApp, { preferredAcr: ["mfa"], prompt: ["none"] }, "finish"],
    ["two factors preferred, of a person who has one", flow, allowed, { preferredAcr: ["mfa"] }, "finish"],
    ["an app, in a session from before it", flow, withApp, {}, "finish"],
    ["an app, at a sign-in", fresh, withApp, {}, "prove-more"],
    ["an app, at a sign-in in a remembered browser", fresh, remembered, {}, "finish"],
    ["a passkey beside the password is asked for by nobody", fresh, withPasskey, {}, "finish"],
    ["a deployment that requires two", flow, withApp, { secondFactor: "unless remembered" }, "prove-more"],
    ["the same, in a remembered browser", flow, remembered, { secondFactor: "unless remembered" }, "finish"],
    ["a client that requires two", flow, remembered, { secondFactor: "always" }, "prove-more"],
    ["a role that requires two", flow, remembered, { mfaRoles: ["admin"] }, "prove-more"],
    ["a role that the person does not have", flow, remembered, { mfaRoles: ["auditor"] }, "finish"],
    ["a role, and a passkey", fresh, withPasskey, { mfaRoles: ["admin"] }, "prove-more"],
    ["both factors, and max_age that the password exceeds", flow, both(999_000), { maxAgeSeconds: 60 }, "sign-in"],
    ["both factors, and a new password for max_age", freshly, both(0, now), { maxAgeSeconds: 60 }, "prove-more"],
    ["both factors", flow, both(0), { requiredAcr: ["mfa"], secondFactor: "always" }, "finish"],
    ["a code alone is no sign-in", flow, codeAlone, {}, "sign-in"],
    ["an organisation to choose, of nobody yet", flow, nobody, { choosesOrganization: true }, "sign-in"],
    ["the only organisation", flow, inOrganizations("a"), { choosesOrganization: true }, "choose a"],
    ["one of two", flow, inOrganizations("a", "b"), { choosesOrganization: true }, "organization"],
    [
      "the same, silently",
      flow,
      inOrganizations("a", "b"),
      { choosesOrganization: true, prompt: ["none"] },
      "interaction_required",
    ],
    ["none of none", flow, inOrganizations(), { choosesOrganization: true }, "access_denied"],
    ["the same, silently", flow, inOrganizations(), { choosesOrganization: true, prompt: ["none"] }, "access_denied"],
    ["one of two, which the request names", flow, inOrganizations("a", "b"), {}, "finish"],
    ["a choice", chosenBy("alice"), { ...allowed, isMember: true }, { choosesOrganization: true }, "finish"],
    [
      "a choice of somebody else",
      chosenBy("bob"),
      { ...allowed, isMember: true },
      { choosesOrganization: true },
      "choose anew",
    ],
    [
      "a choice that is no membership now",
      chosenBy("alice"),
      { ...asked, isMember: false },
      { choosesOrganization: true },
      "access_denied",
    ],
    ["an unknown essential acr", flow, nobody, { requiredAcr: ["x"] }, "unmet_authentication_requirements"],
    ["an expected person", flow, allowed, { expectedSubject: "bob" }, "sign-in"],
    ["someone else signed in", fresh, allowed, { expectedSubject: "bob" }, "login_required"],
  ])("%s", (_, given, facts, changes, expected) => {
    const next = nextStep(given, facts, { ...policy, ...changes }, now);
    const got = {
      page: () => (next.kind === "page" ? next.step.name : ""),
      finish: () => "finish",
      choose: () => (next.kind === "choose" ? `choose ${next.organization?.orgId ?? "anew"}` : ""),
      refuse: () => (next.kind === "refuse" ? next.code : ""),
    };
    expect(got[next.kind]()).toBe(expected);
  });
});

it("RFC 9126 §4: a pushed request begins again only while it is unspent", async () => {
  const push = async (clientId: string) => {
    const body = new URLSearchParams({
      ...{ response_type: "code", redirect_uri: codeClient.redirect_uris![0]!, scope: "openid", nonce: "n" },
      ...{ code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" },
      ...{ client_id: clientId, client_secret: `secret-of-${clientId}` },
    }).toString();
    const response = await fixtures.browser().once("/par", { method: "POST", headers: form, body });
    const { request_uri } = await response.json<{ request_uri: string }>();
    return locationOf(await browser.get(`/authorize?${new URLSearchParams({ client_id: clientId, request_uri })}`));
  };
  await seedClient(authEnv, "pusher", { ...codeClient, token_endpoint_auth_method: "client_secret_post" });
  const page = await push("pusher");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 40 * 60_000 });
  const again = locationOf(await browser.get(`/flow/restart?f=${parameterOf(page)}`));
  const consent = locationOf(await browser.signIn(again));
  expect(sentToClient(await browser.allow(consent)).code).toBeDefined();
  const spent = await browser.get(`/flow/restart?f=${parameterOf(page)}`);
  expect([spent.status, spent.headers.get("location")]).toEqual([400, null]);
});

describe("a page that is days old, such as a bookmark", () => {
  it.each([
    [{ initiate_login_uri: "https://app.example.com/login?from=op" }, "https://app.example.com/login?from=op&amp;iss="],
    [{}, 'href="/"'],
  ])("leads to the application if it can begin there: %o", async (metadata, link) => {
    await seedClient(authEnv, "starter", { ...codeClient, ...metadata });
    const page = locationOf(await browser.authorize({ client_id: "starter" }));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 48 * 3_600_000 });
    for (const path of [page, page.replace("/sign-in?", "/restart?")]) {
      const response = await browser.get(path);
      const html = await response.text();
      expect([response.status, html.includes("Go back to the application"), html.includes(link)]).toEqual([
        400,
        true,
        true,
      ]);
    }
  });
});

describe("a browser that keeps no cookies", () => {
  const told = "Your browser did not send the cookie that it was given.";

  it.each([
    ["an application's request", authorizationPath()],
    ["the account page", "/account"],
    ["the page for devices", "/device"],
  ])("is told so at the first page: %s", async (_, path) => {
    const next = locationOf(await browser.once(path));
    browser.cookies.clear();
    const response = await browser.once(next);
    expect([response.status, (await response.text()).includes(told)]).toEqual([400, true]);
  });

  it("is told so by a form, in place of a page that is out of date again and again", async () => {
    const page = locationOf(await browser.authorize());
    const form_token = await tokenOf(page);
    browser.cookies.clear();
    expect(await (await postOnce(browser, page, { form_token, username: "alice", password })).text()).toContain(told);
    const foreign = { form_token, token: "x" };
    expect(await (await browser.post("/account/password/reset", foreign)).text()).toContain(told);
  });
});
