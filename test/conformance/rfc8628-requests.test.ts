import { beforeAll, describe, expect, test } from "vitest";
import { type ApiResponse, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { claimsOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/**
 * The parameters of a device request besides its scope (RFC 8628 §3.1), their display to the person, and the key to which a device code may be bound.
 */
const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const password = "a long enough password";
const tokenUrl = `${provider.issuer}/token`;

type Fields = Readonly<Record<string, string>>;

let television: TestClient;
let phone: Person;
let sub: string;

beforeAll(async () => {
  television = await fixtures.client({
    client_name: "Kitchen radio",
    token_endpoint_auth_method: "none",
    grant_types: [grantType, "refresh_token"],
    scope: "openid profile email offline_access",
  });
  const username = `person-${crypto.randomUUID()}`;
  sub = await fixtures.user({ username, password, claims: { name: "Dana Device", email: "dana@example.com" } });
  phone = new Person(provider.origin, { username, password });
});

function request(fields: Fields = {}, headers: Fields = {}): Promise<ApiResponse> {
  const form = { client_id: television.client_id, scope: "openid", ...fields };
  return postForm(`${provider.origin}/device_authorization`, form, headers);
}

function poll({ body }: ApiResponse, proof?: string): Promise<ApiResponse> {
  const form = { grant_type: grantType, device_code: String(body["device_code"]), client_id: television.client_id };
  return postForm(`${provider.origin}/token`, form, proof === undefined ? {} : { DPoP: proof });
}

function errorOf({ status, body }: ApiResponse): [number, unknown] {
  return [status, body["error"]];
}

function pathOf({ body }: ApiResponse): string {
  return `${provider.origin}/device?user_code=${String(body["user_code"])}`;
}

async function confirmation(requested: ApiResponse): Promise<Page> {
  const page = await phone.openPage(pathOf(requested));
  return page.name === "sign-in" ? ((await phone.submit(page)) as Page) : page;
}

async function allow(requested: ApiResponse): Promise<Page> {
  return (await phone.submit(await confirmation(requested), { device: { decision: "allow" } })) as Page;
}

describe("RFC 8628 §3.1 with OIDC Core §5.5: the claims parameter", () => {
  test("single claims are shown to the person, and are in the ID token and at UserInfo as requested", async () => {
    const claims = JSON.stringify({ id_token: { email: null }, userinfo: { name: { essential: true } } });
    const requested = await request({ claims });
    expect(requested.status).toBe(200);
    const page = await confirmation(requested);
    expect(textOf(page.html)).toMatch(/email/i);
    await phone.submit(page, { device: { decision: "allow" } });
    const { body } = await poll(requested);
    expect(claimsOf(String(body["id_token"]))).toMatchObject({ sub, email: "dana@example.com" });
    const userinfo = await fixtures.userinfo(String(body["access_token"]));
    expect(await userinfo.json()).toMatchObject({ sub, name: "Dana Device" });
  });

  test("a malformed parameter is refused, and so is a specific sub, because the user is not known yet", async () => {
    expect(errorOf(await request({ claims: "{" }))).toEqual([400, "invalid_request"]);
    const named = await request({ claims: JSON.stringify({ id_token: { sub: { value: sub } } }) });
    expect(errorOf(named)).toEqual([400, "invalid_request"]);
    expect(named.body["error_description"]).toContain("sub");
  });

  test("hints about the person have no effect: a page opened by a stranger's device is not filled in", async () => {
    const requested = await request({ login_hint: "victim@example.com", id_token_hint: "x" });
    expect(requested.status).toBe(200);
    const anonymous = new Person(provider.origin, { username: "nobody", password });
    const page = await anonymous.openPage(pathOf(requested));
    expect([page.name, page.html.includes("victim")]).toEqual(["sign-in", false]);
  });
});

describe("RFC 9470 §4, OIDC Core §5.5.1.1 with RFC 8628: an essential acr", () => {
  const acr = (...values: string[]) => JSON.stringify({ id_token: { acr: { essential: true, values } } });

  test("a value that no method reaches is refused at once", async () => {
    expect(errorOf(await request({ claims: acr("urn:example:gold") }))).toEqual([
      400,
      "unmet_authentication_requirements",
    ]);
  });

  test("a value that the session has is satisfied; the ID token contains it", async () => {
    const requested = await request({ claims: acr("urn:edge-op:acr:password") });
    await allow(requested);
    expect(claimsOf(String((await poll(requested)).body["id_token"]))["acr"]).toBe("urn:edge-op:acr:password");
  });

  test("a value that the session lacks leads to a sign-in with such a method only; nothing is decided", async () => {
    await confirmation(await request());
    const requested = await request({ claims: acr("phr") });
    const page = await phone.openPage(pathOf(requested));
    expect([page.name, page.html.includes('type="password"')]).toEqual(["sign-in", false]);
    expect(errorOf(await poll(requested))).toEqual([400, "authorization_pending"]);
  });

  test("a form of an earlier page does not approve it", async () => {
    const requested = await request({ claims: acr("phr") });
    const other = await confirmation(await request());
    const token = /name="form_token" value="([^"]+)"/.exec(other.html)![1]!;
    const fields = { user_code: String(requested.body["user_code"]), decision: "allow", form_token: token };
    const response = await phone.send(`${provider.origin}/device`, {
      method: "POST",
      body: new URLSearchParams(fields),
    });
    expect(response.status).toBe(403);
    expect(errorOf(await poll(requested))).toEqual([400, "authorization_pending"]);
  });
});

describe("RFC 9449 §10 with RFC 8628: a device code bound to a DPoP key", () => {
  test("by dpop_jkt: without the proof of this key it returns nothing, is not spent, and ends nothing", async () => {
    const [key, thief] = await Promise.all([DpopKey.generate(), DpopKey.generate()]);
    const requested = await request({ dpop_jkt: key.thumbprint });
    await allow(requested);
    expect(errorOf(await poll(requested))).toEqual([400, "invalid_grant"]);
    expect(errorOf(await poll(requested, await thief.proof("POST", tokenUrl)))).toEqual([400, "invalid_grant"]);
    const { status, body } = await poll(requested, await key.proof("POST", tokenUrl));
    expect([status, body["token_type"]]).toEqual([200, "DPoP"]);
    expect(errorOf(await poll(requested, await thief.proof("POST", tokenUrl)))).toEqual([400, "invalid_grant"]);
    const token = String(body["access_token"]);
    const proof = await key.proof("GET", `${provider.issuer}/userinfo`, { ath: await accessTokenHash(token) });
    const headers = { authorization: `DPoP ${token}`, DPoP: proof };
    expect((await fetch(`${provider.origin}/userinfo`, { headers })).status).toBe(200);
  });

  test("by a proof at /device_authorization, which is used once; dpop_jkt must be its key", async () => {
    const key = await DpopKey.generate();
    const url = `${provider.issuer}/device_authorization`;
    const proof = await key.proof("POST", url);
    const requested = await request({}, { DPoP: proof });
    expect(requested.status).toBe(200);
    expect(errorOf(await request({}, { DPoP: proof }))).toEqual([400, "invalid_dpop_proof"]);
    expect(errorOf(await request({}, { DPoP: await key.proof("POST", tokenUrl) }))).toEqual([
      400,
      "invalid_dpop_proof",
    ]);
    const other = { dpop_jkt: (await DpopKey.generate()).thumbprint };
    expect(errorOf(await request(other, { DPoP: await key.proof("POST", url) }))).toEqual([400, "invalid_dpop_proof"]);
    await allow(requested);
    expect(errorOf(await poll(requested))).toEqual([400, "invalid_grant"]);
    expect((await poll(requested, await key.proof("POST", tokenUrl))).status).toBe(200);
  });

  test("a malformed dpop_jkt is refused", async () => {
    expect(errorOf(await request({ dpop_jkt: "x" }))).toEqual([400, "invalid_request"]);
  });
});

describe("RFC 8628 §5: two tabs", () => {
  test("the first of two decisions about one code stands; the second reports that no device is waiting", async () => {
    const requested = await request();
    const [first, second] = [await confirmation(requested), await confirmation(requested)];
    await phone.submit(first, { device: { decision: "deny" } });
    const late = (await phone.submit(second, { device: { decision: "allow" } })) as Page;
    expect([late.status, textOf(late.html).includes("No device is waiting with this code")]).toEqual([400, true]);
    expect(errorOf(await poll(requested))).toEqual([400, "access_denied"]);
  });

  test("two concurrent approvals create one grant", async () => {
    const requested = await request();
    const page = await confirmation(requested);
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)![1]!;
    const fields = { user_code: String(requested.body["user_code"]), decision: "allow", form_token: token };
    const approve = () =>
      phone.send(`${provider.origin}/device`, { method: "POST", body: new URLSearchParams(fields) });
    const statuses = (await Promise.all([approve(), approve()])).map(({ status }) => status);
    expect(statuses).toContain(303);
    expect((await poll(requested)).status).toBe(200);
  });
});
