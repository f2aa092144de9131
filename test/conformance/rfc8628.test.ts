import * as oauth from "oauth4webapi";
import * as oidc from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { DpopKey } from "../fixtures/dpop-key.ts";
import { claimsOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** The device flow over HTTP: a device, a person with a phone, and attackers who guess, replay and interfere. */
const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const password = "a long enough password";

let television: TestClient;
let sub: string;
let phone: Person;

beforeAll(async () => {
  television = await device();
  const username = `person-${crypto.randomUUID()}`;
  sub = await fixtures.user({ username, password, claims: { name: "Dana Device", email: "dana@example.com" } });
  phone = new Person(provider.origin, { username, password });
});

/** A public client, like most devices. */
function device(metadata: Readonly<Record<string, unknown>> = {}): Promise<TestClient> {
  return fixtures.client({
    client_name: "Living-room television",
    policy_uri: "https://television.example.com/privacy",
    token_endpoint_auth_method: "none",
    grant_types: [grantType, "refresh_token"],
    scope: "openid profile email offline_access",
    ...metadata,
  });
}

interface Codes {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly complete: string;
}

function request(client: TestClient, form: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
  return postForm(`${provider.origin}/device_authorization`, { client_id: client.client_id, ...form });
}

async function start(
  client = television,
  form: Readonly<Record<string, string>> = { scope: "openid" },
): Promise<Codes> {
  const { status, body, text } = await request(client, form);
  if (status !== 200) throw new Error(`device authorization: ${status} ${text}`);
  return {
    deviceCode: String(body["device_code"]),
    userCode: String(body["user_code"]),
    complete: String(body["verification_uri_complete"]),
  };
}

async function poll(deviceCode: string, client = television, proof?: string): Promise<ApiResponse> {
  const form = { grant_type: grantType, device_code: deviceCode, client_id: client.client_id };
  return postForm(`${provider.origin}/token`, form, proof === undefined ? {} : { DPoP: proof });
}

async function errorOf(response: Promise<ApiResponse>): Promise<[number, unknown]> {
  const { status, body } = await response;
  return [status, body["error"]];
}

function pathOf(url: string): string {
  return `${provider.origin}${url.slice(provider.issuer.length)}`;
}

/** The page that confirms a code, after signing in if required. */
async function confirmation(codes: Codes, person = phone): Promise<Page> {
  let page = await person.openPage(pathOf(codes.complete));
  if (page.name === "sign-in") page = (await person.submit(page)) as Page;
  return page;
}

async function decide(codes: Codes, decision = "allow", person = phone): Promise<Page> {
  return (await person.submit(await confirmation(codes, person), { device: { decision } })) as Page;
}

describe("RFC 8628 §3.1, §3.2: device authorization", () => {
  test("§4: metadata names the endpoint and the grant", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    expect(body["device_authorization_endpoint"]).toBe(`${provider.issuer}/device_authorization`);
    expect(body["grant_types_supported"]).toContain(grantType);
  });

  test("§3.2: a device code, a short user code, its verification URI, and the interval", async () => {
    const { status, body, headers } = await request(television, { scope: "openid" });
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body["user_code"]).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(body).toEqual({
      device_code: expect.stringMatching(/^dc\./),
      user_code: body["user_code"],
      verification_uri: `${provider.issuer}/device`,
      verification_uri_complete: `${provider.issuer}/device?user_code=${body["user_code"]}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test("§3.1: a confidential client must authenticate; otherwise it is refused", async () => {
    const box = await device({ token_endpoint_auth_method: "client_secret_basic" });
    expect(await errorOf(request(box))).toEqual([401, "invalid_client"]);
    const authenticated = await postForm(
      `${provider.origin}/device_authorization`,
      { scope: "openid" },
      { authorization: box.authorization },
    );
    expect(authenticated.status).toBe(200);
  });

  test("§3.1: a client without the grant, and an unregistered scope, are refused", async () => {
    const other = await fixtures.client({ token_endpoint_auth_method: "none", grant_types: ["refresh_token"] });
    expect(await errorOf(request(other))).toEqual([400, "unauthorized_client"]);
    expect(await errorOf(request(television, { scope: "everything" }))).toEqual([400, "invalid_scope"]);
  });

  test("a browser application may call it from any origin", async () => {
    const preflight = await fetch(`${provider.origin}/device_authorization`, {
      method: "OPTIONS",
      headers: { Origin: "https://app.example.com", "Access-Control-Request-Method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
  });
});

describe("RFC 8628 §3.3: the person and the code", () => {
  test("§3.3: the code is typed on the phone, in any case and without dash; the device gets its tokens once", async () => {
    const codes = await start(television, { scope: "openid email offline_access" });
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "authorization_pending"]);
    let entry = await phone.openPage(`${provider.origin}/device`);
    if (entry.name === "sign-in") entry = (await phone.submit(entry)) as Page;
    expect(entry.html).toContain('name="user_code"');
    const typed = codes.userCode.replace("-", " ").toLowerCase();
    const shown = (await phone.submit(entry, { device: { user_code: typed } })) as Page;
    expect(textOf(shown.html)).toContain(codes.userCode);
    expect(textOf(shown.html)).toContain("On this device, Living-room television would like to:");
    expect(textOf(shown.html)).toContain("See your email address");
    expect(shown.html).toContain('<a href="https://television.example.com/privacy">Privacy policy</a>');
    const done = (await phone.submit(shown, { device: { decision: "allow" } })) as Page;
    expect(textOf(done.html)).toContain("Your device is connected");

    const { status, body } = await poll(codes.deviceCode);
    expect([status, body["token_type"], body["scope"]]).toEqual([200, "Bearer", "openid email offline_access"]);
    expect(claimsOf(String(body["id_token"]))).toMatchObject({ sub, aud: television.client_id });
    const userinfo = await readResponse(await fixtures.userinfo(String(body["access_token"])));
    expect(userinfo.body).toMatchObject({ sub, email: "dana@example.com" });
    const refresh = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
    const refreshed = await postForm(`${provider.origin}/token`, { ...refresh, client_id: television.client_id });
    expect(refreshed.status).toBe(200);
  });

  test("§3.3.1: a link with the code decides nothing: the page shows the code and waits", async () => {
    const codes = await start();
    const page = await confirmation(codes);
    expect(textOf(page.html)).toContain(`Is this the code on your device? ${codes.userCode}`);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "authorization_pending"]);
  });

  test("§5.4: the page is shown for each device, even if its client was allowed earlier", async () => {
    await decide(await start());
    const again = await start();
    expect(textOf((await confirmation(again)).html)).toContain(again.userCode);
    expect(await errorOf(poll(again.deviceCode))).toEqual([400, "authorization_pending"]);
  });

  test("§5.4: a form of another page, of another code or without a token is refused", async () => {
    const [mine, foreign] = [await start(), await start()];
    const page = await confirmation(mine);
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)![1]!;
    const post = (fields: Readonly<Record<string, string>>) =>
      phone.send(`${provider.origin}/device`, { method: "POST", body: new URLSearchParams(fields) });
    const forged = await Promise.all([
      post({ user_code: mine.userCode, decision: "allow" }),
      post({ user_code: foreign.userCode, decision: "allow", form_token: token }),
    ]);
    expect(forged.map(({ status }) => status)).toEqual([403, 403]);
    expect(await errorOf(poll(mine.deviceCode))).toEqual([400, "authorization_pending"]);
    expect(await errorOf(poll(foreign.deviceCode))).toEqual([400, "authorization_pending"]);
  });

  test("§5.4: another person's browser cannot use the form that was shown to this one", async () => {
    const codes = await start();
    const page = await confirmation(codes);
    const username = `person-${crypto.randomUUID()}`;
    await fixtures.user({ username, password });
    const other = new Person(provider.origin, { username, password });
    await confirmation(codes, other);
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)![1]!;
    const body = new URLSearchParams({ user_code: codes.userCode, decision: "allow", form_token: token });
    expect((await other.send(`${provider.origin}/device`, { method: "POST", body })).status).toBe(403);
  });

  test("a decided code is not shown again", async () => {
    const codes = await start();
    await decide(codes);
    const page = await confirmation(codes);
    expect([page.status, textOf(page.html).includes("No device is waiting with this code")]).toEqual([400, true]);
  });

  test.each(["allow", "deny"])(
    "a decision that is sent twice has one result, and is no guess: %s",
    async (decision) => {
      const username = `person-${crypto.randomUUID()}`;
      await fixtures.user({ username, password });
      const person = new Person(provider.origin, { username, password });
      const codes = await start();
      const page = await confirmation(codes, person);
      const expected = decision === "allow" ? "Your device is connected" : "Access denied";
      const submit = async (value = decision) =>
        textOf(((await person.submit(page, { device: { decision: value } })) as Page).html);
      for (const text of await Promise.all([submit(), submit()])) expect(text).toContain(expected);
      // Ten wrong codes would throttle the account.
      for (let repeat = 0; repeat < 12; repeat += 1) expect(await submit()).toContain(expected);
      // The first decision stands: no device waits for another one.
      expect(await submit(decision === "allow" ? "deny" : "allow")).toContain("No device is waiting with this code");
      if (decision === "deny") expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "access_denied"]);
      else expect((await poll(codes.deviceCode)).status).toBe(200);
      expect(await submit()).toContain(expected);
      expect((await confirmation(await start(), person)).status).toBe(200);
    },
  );

  test("two people with one code: the first decision stands, and the second person sees that no device is waiting", async () => {
    const codes = await start();
    const page = await confirmation(codes);
    const username = `person-${crypto.randomUUID()}`;
    await fixtures.user({ username, password });
    const other = new Person(provider.origin, { username, password });
    const theirs = await confirmation(codes, other);
    await phone.submit(page, { device: { decision: "allow" } });
    for (const decision of ["allow", "deny"]) {
      const result = (await other.submit(theirs, { device: { decision } })) as Page;
      expect([result.status, textOf(result.html).includes("No device is waiting with this code")]).toEqual([400, true]);
    }
    expect((await poll(codes.deviceCode)).status).toBe(200);
  });

  test("§5.1: guesses are limited: after ten wrong codes the account must wait, and a correct code does not count", async () => {
    const username = `person-${crypto.randomUUID()}`;
    await fixtures.user({ username, password });
    const guesser = new Person(provider.origin, { username, password });
    for (let right = 0; right < 12; right += 1) expect((await confirmation(await start(), guesser)).status).toBe(200);
    const statuses: number[] = [];
    for (let guess = 0; guess < 12; guess += 1) {
      const response = await guesser.send(`${provider.origin}/device?user_code=BBBB-BBB${"BCDFGHJKLMNP"[guess]}`);
      statuses.push(response.status);
      if (response.status === 429) expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(400), 429, 429]);
    const codes = await start();
    expect((await guesser.send(pathOf(codes.complete))).status).toBe(429);
  });

  test("§5.1: nobody without a session learns whether a code exists", async () => {
    const codes = await start();
    const anonymous = new Person(provider.origin, { username: "nobody", password });
    const pages = await Promise.all([
      anonymous.openPage(pathOf(codes.complete)),
      anonymous.openPage(`${provider.origin}/device?user_code=BBBB-BBBB`),
    ]);
    expect(pages.map(({ name, status }) => [name, status])).toEqual([
      ["sign-in", 200],
      ["sign-in", 200],
    ]);
  });

  test("max_age and acr_values of the request are satisfied by one new sign-in", async () => {
    const username = `person-${crypto.randomUUID()}`;
    await fixtures.user({ username, password });
    const person = new Person(provider.origin, { username, password });
    await confirmation(await start(), person);
    const codes = await start(television, { scope: "openid", max_age: "0" });
    const again = await person.openPage(pathOf(codes.complete));
    expect(again.name).toBe("sign-in");
    const page = (await person.submit(again)) as Page;
    expect(textOf(page.html)).toContain(codes.userCode);
  });
});

describe("RFC 8628 §3.5: polling", () => {
  test("§3.5: an early poll is slow_down", async () => {
    const { deviceCode } = await start();
    expect(await errorOf(poll(deviceCode))).toEqual([400, "authorization_pending"]);
    expect(await errorOf(poll(deviceCode))).toEqual([400, "slow_down"]);
    expect(await errorOf(poll(deviceCode))).toEqual([400, "slow_down"]);
  });

  test("§3.5: a device that was slowed down gets its tokens after the person has allowed it", async () => {
    const codes = await start();
    await poll(codes.deviceCode);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "slow_down"]);
    await decide(codes);
    expect((await poll(codes.deviceCode)).status).toBe(200);
  });

  test("§3.5: access_denied for every poll, and no token", async () => {
    const codes = await start();
    const page = await decide(codes, "deny");
    expect(textOf(page.html)).toContain("Access denied");
    // No sign of success.
    expect(page.html).not.toContain("M8 12.3");
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "access_denied"]);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "access_denied"]);
  });

  test("§5.5: another client's device code is refused, and stays valid for its owner", async () => {
    const codes = await start();
    const thief = await device();
    await decide(codes);
    expect(await errorOf(poll(codes.deviceCode, thief))).toEqual([400, "invalid_grant"]);
    expect((await poll(codes.deviceCode)).status).toBe(200);
  });

  test("a forged or truncated code, or a user code, is not a device code", async () => {
    const codes = await start();
    await decide(codes);
    const { deviceCode, userCode } = codes;
    const flipped = `${deviceCode.slice(0, -1)}${deviceCode.endsWith("A") ? "B" : "A"}`;
    for (const forged of [flipped, deviceCode.slice(0, -4), `${deviceCode}A`, userCode, "dc.g1.wnam.0.x"]) {
      expect(await errorOf(poll(forged))).toEqual([400, "invalid_grant"]);
    }
    expect((await poll(deviceCode)).status).toBe(200);
  });

  test("single use: a second redemption is refused and ends every token of the first", async () => {
    const codes = await start();
    await decide(codes);
    const token = String((await poll(codes.deviceCode)).body["access_token"]);
    expect((await fixtures.userinfo(token)).status).toBe(200);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "invalid_grant"]);
    expect((await fixtures.userinfo(token)).status).toBe(401);
  });

  test("single use: at most one of twenty concurrent polls gets tokens, and they are revoked", async () => {
    const codes = await start();
    await decide(codes);
    const responses = await Promise.all(Array.from({ length: 20 }, () => poll(codes.deviceCode)));
    const redeemed = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status, body }) => status === 400 && body["error"] === "invalid_grant");
    expect(redeemed.length + refused.length).toBe(20);
    // The redemption itself is refused if the replays have revoked its grant before it responds.
    expect(redeemed.length).toBeLessThanOrEqual(1);
    for (const { body } of redeemed) expect((await fixtures.userinfo(String(body["access_token"]))).status).toBe(401);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "invalid_grant"]);
  });

  test("removing the application's access ends the grant, even before it is redeemed", async () => {
    const codes = await start(television, { scope: "openid offline_access" });
    await decide(codes);
    const account = await phone.openPage(
      `${provider.origin}/account/consents/remove?client_id=${television.client_id}`,
    );
    await phone.submit(account);
    expect(await errorOf(poll(codes.deviceCode))).toEqual([400, "invalid_grant"]);
  });

  test("a client that was disabled meanwhile, and a suspended person, get nothing", async () => {
    const client = await device();
    const username = `person-${crypto.randomUUID()}`;
    const suspended = await fixtures.user({ username, password });
    const person = new Person(provider.origin, { username, password });
    const codes = await start(client);
    await decide(codes, "allow", person);
    await fixtures.admin.require("PATCH", `/users/${suspended}`, { status: "suspended" });
    expect(await errorOf(poll(codes.deviceCode, client))).toEqual([400, "invalid_grant"]);
    const others = await start(client);
    await fixtures.admin.require("PATCH", `/clients/${client.client_id}`, { status: "disabled" });
    expect(await errorOf(poll(others.deviceCode, client))).toEqual([401, "invalid_client"]);
  });
});

describe("RFC 9449 §5 with RFC 8628: a device's tokens are bound to its key", () => {
  test("at /token; the refresh token of a public client is bound too, and a pending poll does not spend the proof", async () => {
    const key = await DpopKey.generate();
    const url = `${provider.issuer}/token`;
    const codes = await start(television, { scope: "openid offline_access" });
    const proof = await key.proof("POST", url);
    expect(await errorOf(poll(codes.deviceCode, television, proof))).toEqual([400, "authorization_pending"]);
    await decide(codes);
    const { status, body } = await poll(codes.deviceCode, television, proof);
    expect([status, body["token_type"]]).toEqual([200, "DPoP"]);
    expect(claimsOf(String(body["access_token"]))["cnf"]).toEqual({ jkt: key.thumbprint });
    const form = { grant_type: "refresh_token", refresh_token: String(body["refresh_token"]) };
    const refresh = (by: DpopKey) =>
      by
        .proof("POST", url)
        .then((made) =>
          postForm(`${provider.origin}/token`, { ...form, client_id: television.client_id }, { DPoP: made }),
        );
    expect((await refresh(await DpopKey.generate())).body["error"]).toBe("invalid_grant");
    expect((await refresh(key)).status).toBe(200);
    expect(await errorOf(poll((await start()).deviceCode, television, proof))).toEqual([400, "authorization_pending"]);
  });
});

describe("client libraries", () => {
  test("openid-client: from the request to UserInfo", async () => {
    const config = await oidc.discovery(new URL(provider.issuer), television.client_id, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
    });
    const response = await oidc.initiateDeviceAuthorization(config, { scope: "openid email" });
    const { device_code: deviceCode, user_code: userCode } = response;
    await decide({ deviceCode, userCode, complete: response.verification_uri_complete! });
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...response, interval: 1 });
    expect(tokens.claims()?.sub).toBe(sub);
    expect(await oidc.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({ email: "dana@example.com" });
  });

  test("oauth4webapi: pending, then tokens", async () => {
    const http = { [oauth.allowInsecureRequests]: true } as const;
    const issuer = new URL(provider.issuer);
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, http));
    const client: oauth.Client = { client_id: television.client_id };
    const requested = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope: "openid" }, http);
    const codes = await oauth.processDeviceAuthorizationResponse(server, client, requested);
    const ask = async () => {
      const response = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), codes.device_code, http);
      return oauth.processDeviceCodeResponse(server, client, response);
    };
    await expect(ask()).rejects.toMatchObject({ error: "authorization_pending" });
    await decide({
      deviceCode: codes.device_code,
      userCode: codes.user_code,
      complete: codes.verification_uri_complete!,
    });
    expect(oauth.getValidatedIdTokenClaims(await ask())?.sub).toBe(sub);
  });
});
