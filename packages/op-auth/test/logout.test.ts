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

const { fixtures, browser } = useDeployment({ post_logout_redirect_uris: [goodbye] });

beforeEach(async () => {
  hint = await idTokenOf((await browser.signInWhole()).get("code")!);
});

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
    const fields = Object.fromEntries(
      [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map((match) => [match[1]!, match[2]!]),
    );
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

  it.each([
    ["a redirect URI that is not registered", { post_logout_redirect_uri: "https://evil.example/" }],
    ["a redirect URI with a query more", { post_logout_redirect_uri: `${goodbye}?x=1` }],
    ["a client that the hint is not of", { client_id: "other" }],
  ])("RP-Initiated §3: %s causes no redirect", async (_, parameters: Record<string, string>) => {
    await seedClient(authEnv, "other", { ...codeClient, post_logout_redirect_uris: ["https://evil.example/"] });
    const response = await logout({ id_token_hint: hint, ...parameters });
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    expect(await isSignedIn()).toBe(true);
  });

  it("RP-Initiated §3: a redirect URI without a client causes no redirect, and the page names the missing parameter", async () => {
    const response = await logout({ post_logout_redirect_uri: goodbye });
    expect(response.status).toBe(400);
    const html = await response.text();
    expect(html).toContain("requires an id_token_hint or client_id");
    expect(html).not.toContain("not registered");
  });

  it("RP-Initiated §3: a disabled client receives no redirect", async () => {
    await seedClient(authEnv, "closed", { ...codeClient, post_logout_redirect_uris: [goodbye] });
    await authEnv.DB.prepare("UPDATE clients SET status = 'disabled' WHERE client_id = 'closed'").run();
    const ofClosed = await idTokenOf((await browser.signInWhole()).get("code")!, "closed");
    for (const parameters of [{ client_id: "closed" }, { id_token_hint: ofClosed }]) {
      const response = await logout({ ...parameters, post_logout_redirect_uri: goodbye });
      expect(response.status).toBe(400);
      expect(response.headers.get("location")).toBeNull();
    }
  });

  it("RP-Initiated §4: a hint of another issuer is refused", async () => {
    expect((await logout({ id_token_hint: `${hint.slice(0, -4)}AAAA` })).status).toBe(400);
    expect(await isSignedIn()).toBe(true);
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
    ["a grant of the session", {}],
    // The client's part of the session, the shard of refresh families, the grant's revocation shard.
    ["a grant with offline_access", { scope: "openid offline_access", prompt: "consent" }],
  ])("%s costs 3 object calls, 0 KV, 0 D1", async (_, parameters: Record<string, string>) => {
    const signIn = async () => idTokenOf((await browser.signInWhole(parameters)).get("code")!);
    for (let warmUp = 0; warmUp < 2; warmUp += 1) await post(fixtures.browser(), { id_token_hint: await signIn() });
    const own = await signIn();
    const counts = { object: 0, kv: 0, d1: 0 };
    expect((await post(fixtures.browser(countCalls(authEnv, counts)), { id_token_hint: own })).status).toBe(200);
    expect(counts).toEqual({ object: 3, kv: 0, d1: 0 });
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
