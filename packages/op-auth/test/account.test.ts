import { noticeDescriptions } from "@edge-op/pages/mail/notices";
import { listOfflineGrants, type OfflineGrant } from "@edge-op/shared/users/offline-grants";
import { describe, expect, it, vi } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import {
  AuthFixtures,
  authEnv,
  codeClient,
  formTokenOf,
  locationOf,
  sentToClient,
  stepOf,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";
import { SoftwarePasskey } from "./fixtures/software-passkey.ts";
import { seedUpstream } from "./fixtures/stand-in-upstream.ts";

const { fixtures, browser } = useDeployment();

async function submitAccount(path: string, fields: Record<string, string>): Promise<Response> {
  const token = formTokenOf(await (await browser.get("/account/security")).text());
  return browser.post(path, { form_token: token, ...fields });
}

describe("a person's own page", () => {
  it("requires a sign-in first, and then returns", async () => {
    const page = locationOf(await browser.get("/account"));
    expect(page).toMatch(/sign-in\?f=/);
    expect(locationOf(await browser.signIn(page))).toBe("/account");
    expect(await (await browser.get("/account")).text()).toContain("Signed in as Alice Example");
  });

  it("has the pages and parts to which mails lead", async () => {
    await SoftwarePasskey.register("alice");
    await seedUpstream();
    await browser.signInWhole();
    const linked = Object.values(noticeDescriptions).flatMap(({ page }) => page?.[0] ?? []);
    for (const target of new Set(linked)) {
      const [path = "", part] = target.split("#");
      const response = await browser.once(path);
      // A page that needs another proof asks for it, and then returns.
      expect([target, response.status === 200 || stepOf(locationOf(response)) !== undefined]).toEqual([target, true]);
      if (part !== undefined) expect(await response.text()).toContain(`<section id="${part}">`);
    }
    expect(linked).toContain("/account/applications#sessions");
  });

  it("revoked consent is requested again, in every session", async () => {
    await browser.signInWhole();
    const elsewhere = fixtures.browser();
    await elsewhere.signInWhole();
    expect(locationOf(await submitAccount("/account/consents", { client_id: "app" }))).toMatch(
      /notice=access-removed$/,
    );
    for (const each of [browser, elsewhere]) {
      expect(sentToClient(await each.authorize({ prompt: "none" })).error).toBe("consent_required");
    }
  });

  it("OIDC Core §4: an application with initiate_login_uri can be opened from the list, with the issuer as the only parameter", async () => {
    const uri = "https://app.example.com/start?target_link_uri=https%3A%2F%2Fapp.example.com%2Fhome&iss=other";
    await seedClient(authEnv, "startable", { ...codeClient, initiate_login_uri: uri });
    await browser.signInWhole();
    await browser.signInWhole({ client_id: "startable" });
    const links = async () => {
      const html = await (await browser.get("/account/applications")).text();
      return [...html.matchAll(/href="([^"]*)" aria-label="Open: [^"]*" data-start="(\w+)"/g)].map(([, url, id]) => [
        id,
        url!.replaceAll("&amp;", "&"),
      ]);
    };
    const [start, ...others] = await links();
    expect(others).toEqual([]);
    const target = new URL(start![1]!);
    expect([start![0], target.origin + target.pathname]).toEqual(["startable", "https://app.example.com/start"]);
    expect(Object.fromEntries(target.searchParams)).toEqual({
      iss: "https://op.example.com",
      target_link_uri: "https://app.example.com/home",
    });
  });

  it("withdrawing consent revokes the grants that outlive sessions", async () => {
    await browser.signInWhole({ scope: "openid offline_access", prompt: "consent" });
    const [grant] = await listOfflineGrants(authEnv.DB, "alice", "app");
    await submitAccount("/account/consents", { client_id: "app" });
    expect(await isRevoked(grant!)).toBe(true);
    expect(await listOfflineGrants(authEnv.DB, "alice", "app")).toEqual([]);
    expect(await authEnv.DB.prepare("SELECT * FROM consents").first()).toBeNull();
  });

  async function withdrawals(): Promise<unknown[]> {
    const { results } = await authEnv.DB.prepare(
      "SELECT client_id FROM admin_events WHERE action = 'consent.withdrawn'",
    ).all<{ client_id: string }>();
    return results.map(({ client_id }) => client_id);
  }

  it("removing a client without access has the same response, and no audit event", async () => {
    await browser.signInWhole();
    for (const client_id of ["unknown", "app", "app"]) {
      expect(locationOf(await submitAccount("/account/consents", { client_id }))).toMatch(/notice=access-removed$/);
    }
    expect(await withdrawals()).toEqual(["app"]);
  });

  it("withdrawing a consent twice concurrently causes one audit event", async () => {
    await browser.signInWhole({ scope: "openid offline_access", prompt: "consent" });
    await Promise.all([1, 2, 3].map(() => submitAccount("/account/consents", { client_id: "app" })));
    expect(await withdrawals()).toEqual(["app"]);
  });

  async function isRevoked({ grantId, address }: OfflineGrant): Promise<boolean> {
    const namespace = authEnv.TOKEN_REVOCATION_STORE;
    const stub = namespace.get(namespace.idFromName(`revocation:g1:wnam:${address.shard}`));
    return (await stub.check([`g:${grantId}`], [], -1)).revoked.length === 1;
  }

  it("a first-party application's offline access is shown, survives a sign-out, and is removed", async () => {
    await seedClient(authEnv, "own", { ...codeClient, client_name: "Our Own App", skip_consent: true });
    await browser.signInWhole({ client_id: "own", scope: "openid offline_access" });
    const [grant] = await listOfflineGrants(authEnv.DB, "alice", "own");
    await browser.get(`/logout?${new URLSearchParams({})}`);
    browser.cookies.delete("__Host-op-session");
    await browser.signIn(locationOf(await browser.get("/account")));
    const html = await (await browser.get("/account/applications")).text();
    expect(html).toContain("Our Own App");
    expect(html).toContain("Keep this access while you are away");
    expect(await isRevoked(grant!)).toBe(false);
    await submitAccount("/account/consents", { client_id: "own" });
    expect(await isRevoked(grant!)).toBe(true);
    expect(await withdrawals()).toEqual(["own"]);
    expect(await (await browser.get("/account/applications")).text()).not.toContain("Our Own App");
  });

  it("a client registered under a deleted client's id inherits no consent, even in a live session", async () => {
    await browser.signInWhole();
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    await authEnv.DB.batch([
      authEnv.DB.prepare("DELETE FROM client_secrets WHERE client_id = 'app'"),
      authEnv.DB.prepare("DELETE FROM clients WHERE client_id = 'app'"),
    ]);
    await seedClient(authEnv, "app", codeClient);
    await authEnv.DB.prepare("UPDATE clients SET created_at_ms = 7 WHERE client_id = 'app'").run();
    const { keys } = await authEnv.CACHE.list();
    await Promise.all(keys.map(({ name }) => authEnv.CACHE.delete(name)));
    const fresh = new AuthFixtures(fixtures.client).copyOf(browser);
    expect(sentToClient(await fresh.authorize({ prompt: "none" })).error).toBe("consent_required");
    const consent = locationOf(await fresh.authorize());
    expect(sentToClient(await fresh.allow(consent)).code).toBeDefined();
    expect(sentToClient(await fresh.authorize({ prompt: "none" })).code).toBeDefined();
  });

  it("another session can be ended from here, and this one too", async () => {
    await browser.signInWhole();
    const own = await authEnv.DB.prepare("SELECT sid FROM user_sessions").first<{ sid: string }>();
    const elsewhere = fixtures.browser();
    await elsewhere.signInWhole();
    const other = await authEnv.DB.prepare("SELECT sid FROM user_sessions WHERE sid <> ?1")
      .bind(own!.sid)
      .first<{ sid: string }>();
    expect(locationOf(await submitAccount("/account/sessions", { sid: other!.sid }))).toMatch(/notice=session-ended$/);
    expect(sentToClient(await elsewhere.authorize({ prompt: "none" })).error).toBe("login_required");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).code).toBeDefined();
    expect(locationOf(await submitAccount("/account/sessions", { sid: own!.sid }))).toBe("/logout");
    expect(sentToClient(await browser.authorize({ prompt: "none" })).error).toBe("login_required");
  });

  it("another user's session is not ended from here", async () => {
    await browser.signIn(locationOf(await browser.get("/account")));
    const bob = fixtures.browser();
    await bob.signIn(locationOf(await bob.get("/account")), "bob");
    const row = await authEnv.DB.prepare("SELECT sid FROM user_sessions WHERE sub = 'bob'").first<{ sid: string }>();
    await submitAccount("/account/sessions", { sid: row!.sid });
    expect((await bob.get("/account")).status).toBe(200);
  });

  it.each([
    ...["/account/consents", "/account/sessions", "/account/passkeys", "/account/passkeys/remove"],
    ...["/account/apps", "/account/recovery-codes", "/account/factors/remove"],
  ])("RFC 9700 §4.7: %s takes no form of another site", async (path) => {
    await browser.signIn(locationOf(await browser.get("/account")));
    const fields = {
      client_id: "app",
      sid: "x",
      credential: "{}",
      credential_id: "x",
      form_token: "AAAAAAAAAAAAAAAAAAAAAA",
    };
    const refused = await browser.post(path, fields);
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('quiet" href="/account"')]);
  });

  it.each([
    ["nothing", "{}"],
    ["no JSON", "x"],
    ["an unknown passkey", '{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"userHandle":"AAAA"}}'],
  ])("WebAuthn §7.2: %s does not sign in", async (_, credential) => {
    const page = locationOf(await browser.authorize());
    const response = await browser.submit(page, { credential });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("That passkey did not work");
    expect(browser.cookies.has("__Host-op-session")).toBe(false);
  });

  it("WebAuthn §7.1: an invalid registration response adds no passkey", async () => {
    await browser.signIn(locationOf(await browser.get("/account")));
    const html = await (await browser.get("/account/security")).text();
    const ceremony = /name="ceremony" value="([^"]+)"/.exec(html)![1]!;
    const fields = { form_token: formTokenOf(html), ceremony, credential: '{"id":"AAAA","response":{}}' };
    expect(locationOf(await browser.post("/account/passkeys", fields))).toBe("/account/security?notice=passkey-failed");
    expect(await authEnv.DB.prepare("SELECT * FROM webauthn_credentials").first()).toBeNull();
  });

  it("like adding one, removing a passkey requires a recent sign-in", async () => {
    const passkey = await SoftwarePasskey.register("alice");
    await browser.signIn(locationOf(await browser.get("/account")));
    const html = await (await browser.get("/account/security")).text();
    const fields = { form_token: formTokenOf(html), credential_id: passkey.id };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11 * 60_000 });
    try {
      expect(locationOf(await browser.post("/account/passkeys/remove", fields))).toMatch(/sign-in\?f=/);
      expect(await authEnv.DB.prepare("SELECT * FROM webauthn_credentials").first()).not.toBeNull();
    } finally {
      vi.useRealTimers();
    }
    expect(locationOf(await browser.post("/account/passkeys/remove", fields))).toBe(
      "/account/security?notice=factor-removed",
    );
    expect(await authEnv.DB.prepare("SELECT * FROM webauthn_credentials").first()).toBeNull();
  });

  it("the style sheet contains the deployment's colours, and pages its name", async () => {
    const branded = fixtures.browser({ ...authEnv, DISPLAY_NAME: "Acme <Accounts>", BRAND_COLOR: "#aa0055" });
    const html = await (await branded.get(locationOf(await branded.get("/account")))).text();
    expect(html).toContain("Acme &lt;Accounts&gt;");
    const css = await branded.get(/href="(\/assets\/style[^"]+)"/.exec(html)![1]!);
    expect(css.headers.get("cache-control")).toContain("immutable");
    expect(await css.text()).toContain("--brand: #aa0055");
  });

  it("pages use the language of the client and the browser", async () => {
    const page = locationOf(await browser.authorize({ ui_locales: "de-AT fr" }));
    expect(await (await browser.get(page)).text()).toContain('<html lang="de" dir="ltr">');
    const swedish = await browser.send(page, { headers: { "accept-language": "sv, en;q=0.5" } });
    expect(await swedish.text()).toContain('<html lang="de" dir="ltr">');
    const other = locationOf(await browser.authorize());
    const german = await browser.send(other, { headers: { "accept-language": "sv, de;q=0.5, en;q=0.3" } });
    expect(await german.text()).toContain("Anmelden");
  });
});
