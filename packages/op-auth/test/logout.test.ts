import { sectorSessionId } from "@edge-op/shared/clients/pairwise-subject";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { signIdToken } from "@edge-op/shared/tokens/id-token";
import { beforeEach, describe, expect, it } from "vitest";
import { grantNow } from "../../../test/fixtures/grant-now.ts";
import { seedClient } from "../../../test/fixtures/seed.ts";
import {
  authEnv,
  type Browser,
  codeClient,
  contextOf,
  locationOf,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const goodbye = "https://app.example.com/goodbye";
let hint: string;
/** Of a client that is disabled now. */
let ofClosed: string;

const { fixtures, browser } = useDeployment({ post_logout_redirect_uris: [goodbye] });

beforeEach(async () => {
  for (const id of ["closed", "other"]) {
    await seedClient(authEnv, id, { ...codeClient, post_logout_redirect_uris: [goodbye, "https://evil.example/"] });
  }
  const code = (await browser.signInWhole()).get("code")!;
  hint = await idTokenOf(code);
  await authEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'closed'").run();
  ofClosed = await idTokenOf(code, "closed");
});

function hiddenFieldsOf(html: string): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, value]));
}

/** The ID token that /token would issue for a code. */
async function idTokenOf(code: string, clientId = "app"): Promise<string> {
  const context = contextOf();
  return signIdToken(context, fixtures.isolate, {
    ...(await fixtures.payloadOf(code)),
    client: (await fixtures.isolate.clients.find(context, clientId))!,
    accessToken: "access-token",
    code: undefined,
    userClaims: {},
  });
}

function logout(parameters: Record<string, string>, from: Browser = browser): Promise<Response> {
  return from.get(`/logout?${new URLSearchParams(parameters)}`);
}

async function isSignedIn(from: Browser = browser): Promise<boolean> {
  return sentToClient(await from.authorize({ prompt: "none" })).code !== undefined;
}

describe("RP-initiated logout", () => {
  it("RP-Initiated §2: a hint for this session ends it and returns the person with state", async () => {
    const response = await logout({ id_token_hint: hint, post_logout_redirect_uri: goodbye, state: "s&1" });
    expect(locationOf(response)).toBe(`${goodbye}?state=s%261`);
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
    expect(await isSignedIn()).toBe(false);
  });

  it("RP-Initiated §2: the session has also ended for a copied cookie", async () => {
    const copy = fixtures.copyOf(browser);
    await logout({ id_token_hint: hint });
    expect(await isSignedIn(copy)).toBe(false);
  });

  it("RP-Initiated §2: without a redirect URI a page confirms the logout", async () => {
    const response = await logout({ id_token_hint: hint });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("You are signed out");
  });

  it("RP-Initiated §6: without a hint the user must confirm, and may decline", async () => {
    const page = await logout({ client_id: "app", post_logout_redirect_uri: goodbye, state: "s" });
    const html = await page.text();
    expect(html).toContain("Example App has requested to sign you out.");
    expect(await isSignedIn()).toBe(true);
    const fields = hiddenFieldsOf(html);
    const stayed = await browser.post("/logout/confirm", { ...fields, decision: "stay" });
    expect(await stayed.text()).toContain("You are still signed in");
    expect(await isSignedIn()).toBe(true);
    const left = await browser.post("/logout/confirm", { ...fields, decision: "leave" });
    expect(locationOf(left)).toBe(`${goodbye}?state=s`);
    expect(await isSignedIn()).toBe(false);
  });

  it("RFC 9700 §4.7: the confirmation cannot be forged", async () => {
    const response = await browser.post("/logout/confirm", {
      decision: "leave",
      form_token: "AAAAAAAAAAAAAAAAAAAAAA",
    });
    expect(response.status).toBe(403);
    expect(await isSignedIn()).toBe(true);
  });

  it("RP-Initiated §2: a hint that names another user requires confirmation", async () => {
    const other = fixtures.browser();
    await other.signIn(locationOf(await other.authorize()), "bob");
    const response = await logout({ id_token_hint: hint }, other);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("Sign out?");
  });

  const evil = "https://evil.example/";

  it.each<[string, () => Record<string, string>, string]>([
    ["a return address that is not registered", () => ({ post_logout_redirect_uri: evil }), "not registered"],
    ["one with a query more", () => ({ post_logout_redirect_uri: `${goodbye}?x=1` }), "not registered"],
    ["the hint of a client that was disabled", () => ({ id_token_hint: ofClosed }), "The client is unknown."],
  ])("RP-Initiated §3: %s: the person is signed out, stays here and is told why", async (_, parameters, reason) => {
    const response = await logout({ id_token_hint: hint, post_logout_redirect_uri: goodbye, ...parameters() });
    const html = await response.text();
    expect([response.status, response.headers.get("location")]).toEqual([200, null]);
    expect(html).toContain("You are signed out");
    expect(html).toContain("you will not be taken back to it");
    expect(html).toContain(reason);
    expect(html).not.toContain(evil);
    expect(await isSignedIn()).toBe(false);
  });

  it.each<[string, () => Record<string, string>, string]>([
    ["a hint that was changed", () => ({ id_token_hint: `${hint.slice(0, -4)}AAAA` }), "id_token_hint is not valid"],
    ["a hint that is no token", () => ({ id_token_hint: "x", client_id: "app" }), "id_token_hint is not valid"],
    [
      "a client that the hint is not of",
      () => ({ id_token_hint: hint, client_id: "other" }),
      "not issued to this client",
    ],
    ["a return address without a client", () => ({}), "requires an id_token_hint or client_id"],
    ["a client that is unknown", () => ({ client_id: "nobody" }), "The client is unknown."],
    ["a client that is disabled", () => ({ client_id: "closed" }), "The client is unknown."],
    ["a posted request that is gone", () => ({ request: "ch.gone" }), "expired"],
  ])(
    "RP-Initiated §6: %s: the person confirms, is signed out, stays here and is told why",
    async (_, parameters, reason) => {
      const page = await logout({ post_logout_redirect_uri: goodbye, ...parameters() });
      const html = await page.text();
      expect([page.status, page.headers.get("location")]).toEqual([200, null]);
      expect(html).toContain("Sign out?");
      expect(html).toContain("you will not be taken back to it");
      expect(html).toContain(reason);
      expect(await isSignedIn()).toBe(true);
      const left = await browser.post("/logout/confirm", { ...hiddenFieldsOf(html), decision: "leave" });
      expect([left.status, left.headers.get("location")]).toEqual([200, null]);
      expect(await left.text()).toContain("You are signed out");
      expect(await isSignedIn()).toBe(false);
    },
  );

  it("RP-Initiated §2: a POST from another site with a hint of another issuer puts that in no URL", async () => {
    const fields = { id_token_hint: `${hint.slice(0, -4)}AAAA`, post_logout_redirect_uri: goodbye };
    const next = locationOf(await fixtures.browser().post("/logout", fields));
    expect(next).not.toContain(hint.slice(0, 20));
    expect(await (await browser.get(next)).text()).toContain("The id_token_hint is not valid.");
  });

  it("RP-Initiated §2: without a session, redirects immediately", async () => {
    const response = await logout({ client_id: "app", post_logout_redirect_uri: goodbye }, fixtures.browser());
    expect(locationOf(response)).toBe(goodbye);
  });

  it("RP-Initiated §2: a POST from another site, which carries no cookie, continues as a GET that does", async () => {
    const next = locationOf(
      await fixtures.browser().post("/logout", { id_token_hint: hint, post_logout_redirect_uri: goodbye }),
    );
    expect(locationOf(await browser.get(next))).toBe(goodbye);
    expect(await isSignedIn()).toBe(false);
  });

  it("RP-Initiated §2: a pairwise client's hint finds the session by its sector's sid", async () => {
    await seedClient(authEnv, "pairwise", { ...codeClient, subject_type: "pairwise", skip_consent: true });
    const context = contextOf();
    const hintOf = async (sub: string, sid: string) =>
      signIdToken(context, fixtures.isolate, {
        grant: await grantNow(context, fixtures.isolate),
        client: (await fixtures.isolate.clients.find(context, "pairwise"))!,
        sub,
        sid,
        nonce: undefined,
        authTimeSeconds: undefined,
        acr: undefined,
        amr: undefined,
        accessToken: "access-token",
        code: undefined,
        userClaims: {},
      });
    const code = (await browser.signInWhole()).get("code")!;
    const session = (await fixtures.payloadOf(code)) as { sub: string; sid: string };
    // The subject belongs to a sector that the client has left; only the sid identifies this session.
    const subject = "subject-of-another-sector";
    const sectorSid = await sectorSessionId(authEnv, session, subject);
    expect(sectorSid).not.toBe(session.sid);
    await logout({ id_token_hint: await hintOf(subject, await sectorSessionId(authEnv, session, "someone-else")) });
    expect(await isSignedIn()).toBe(true);
    await logout({ id_token_hint: await hintOf(subject, sectorSid) });
    expect(await isSignedIn()).toBe(false);
  });

  it("Back-Channel Logout §2.1: sid in the ID token identifies the session, and stays the same after a new sign-in", async () => {
    const sid = (token: string) =>
      (JSON.parse(atob(token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"))) as { sid: string }).sid;
    const again = await idTokenOf((await browser.signInWhole({ prompt: "login" })).get("code")!);
    expect(sid(again)).toBe(sid(hint));
  });
});

describe("POST /logout by a client that authenticates", () => {
  const authorization = `Basic ${btoa("app:secret-of-app")}`;
  const post = (from: Browser, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    from.send("/logout", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", authorization, ...headers },
      body: new URLSearchParams(fields).toString(),
    });

  it.each([
    // The client's part of the session, its grant's revocation shard, the acknowledgement.
    ["a grant of the session", {}, { object: 3, kv: 0, d1: 0 }],
    // The client's part of the session, the shard of refresh families, the grant's revocation shard; the newest generations, and their copy.
    ["a grant with offline_access", { scope: "openid offline_access", prompt: "consent" }, { object: 3, kv: 2, d1: 1 }],
  ])("what %s costs", async (_, parameters: Record<string, string>, expected) => {
    const signIn = async () => idTokenOf((await browser.signInWhole(parameters)).get("code")!);
    for (let warmUp = 0; warmUp < 2; warmUp += 1) await post(fixtures.browser(), { id_token_hint: await signIn() });
    const own = await signIn();
    const counts = { object: 0, kv: 0, d1: 0 };
    expect((await post(fixtures.browser(countCalls(authEnv, counts)), { id_token_hint: own })).status).toBe(200);
    expect(counts).toEqual(expected);
  });

  it("Fetch Metadata: a form to which a browser navigates is a person's, whatever credentials it has", async () => {
    const navigation = { "sec-fetch-mode": "navigate" };
    const page = await post(browser, { client_id: "app", client_secret: "secret-of-app" }, navigation);
    expect(await page.text()).toContain("Sign out?");
    expect(await isSignedIn()).toBe(true);
    const hinted = await post(fixtures.browser(), { id_token_hint: hint }, navigation);
    expect([hinted.status, locationOf(hinted)]).toEqual([303, expect.stringMatching(/^\/logout\?request=/)]);
  });
});
