import { beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import type { Page, Person } from "../../packages/edge-op/testing/person.ts";
import { Application, goodbye } from "./fixtures/application.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** OpenID Connect Front-Channel Logout 1.0: the page that a browser shows at a logout, and the frames in it. */
const logoutUri = "https://app.example.com/front-channel?tenant=1";

let application: Application;
let other: Application;
let silent: Application;

beforeAll(async () => {
  [application, other, silent] = await Promise.all([
    Application.register(fixtures, { frontchannel_logout_uri: logoutUri, frontchannel_logout_session_required: true }),
    Application.register(fixtures, {
      redirect_uris: ["https://app.example.com/callback", "https://other.example.com/callback"],
      sector_identifier_uri: undefined,
      frontchannel_logout_uri: "https://other.example.com/out",
    }),
    Application.register(fixtures),
  ]);
});

async function browser(): Promise<Person> {
  return (await registerPerson(fixtures, { name: "Pat Person" })).browser();
}

function framesOf(html: string): URL[] {
  return [...html.matchAll(/<iframe[^>]* src="([^"]+)"/g)].map(([, src]) => new URL(src!.replaceAll("&amp;", "&")));
}

function logout(person: Person, idToken: string | undefined, returnTo: string | undefined = goodbye) {
  const url = application.logoutUrl({
    id_token_hint: idToken,
    post_logout_redirect_uri: idToken === undefined ? undefined : returnTo,
    state: "s & t",
    ui_locales: "en",
  });
  return person.send(url);
}

test("§3: metadata", async () => {
  const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/openid-configuration`));
  expect([body["frontchannel_logout_supported"], body["frontchannel_logout_session_supported"]]).toEqual([true, true]);
});

describe("OIDC Front-Channel Logout §2, §3: at a logout", () => {
  test("§3: each client of the session that registered a URI is loaded, with iss and the sid of its ID token", async () => {
    const person = await browser();
    const tokens = await application.signIn(person);
    const others = await other.signIn(person);
    await silent.signIn(person);
    const response = await logout(person, tokens.idToken);
    expect([response.status, response.headers.get("location")]).toEqual([200, null]);
    const html = await response.text();
    const frames = framesOf(html).toSorted((left, right) => (left.host < right.host ? -1 : 1));
    expect(frames.map(({ origin, pathname }) => origin + pathname)).toEqual([
      "https://app.example.com/front-channel",
      "https://other.example.com/out",
    ]);
    expect(Object.fromEntries(frames[0]!.searchParams)).toEqual({
      tenant: "1",
      iss: provider.issuer,
      sid: tokens.claims["sid"],
    });
    expect(frames[1]!.searchParams.get("sid")).toBe(claimsOf(others.idToken)["sid"]);
    const next = /<a[^>]* href="([^"]+)"[^>]* id="continue"/.exec(html)![1]!.replaceAll("&amp;", "&");
    expect(next).toBe(`${goodbye}?state=s+%26+t`);
  });

  test("§4.1: the page allows exactly these frames, is not cached, cannot be framed, and sends no referrer", async () => {
    const person = await browser();
    const { idToken } = await application.signIn(person);
    const response = await logout(person, idToken);
    const policy = response.headers.get("content-security-policy")!;
    expect(policy).toContain("frame-src https://app.example.com;");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(await response.text()).toContain('sandbox="allow-scripts allow-same-origin" referrerpolicy="no-referrer"');
  });

  test("the session has ended when the page is shown: a silent request fails", async () => {
    const person = await browser();
    const { idToken } = await application.signIn(person);
    await logout(person, idToken);
    const { url } = await person.visit(application.authorizationUrl({ prompt: "none" }));
    expect(url.searchParams.get("error")).toBe("login_required");
  });

  test("without a client that registered a URI, the response is the redirect", async () => {
    const person = await browser();
    const { idToken } = await silent.signIn(person);
    const url = silent.logoutUrl({ id_token_hint: idToken, post_logout_redirect_uri: goodbye });
    expect((await person.send(url)).headers.get("location")).toBe(goodbye);
  });

  test("a logout that the person confirms, and one at the account page, also load the frames", async () => {
    const person = await browser();
    await application.signIn(person);
    const question = await person.openPage("/logout");
    expect(framesOf(question.html)).toEqual([]);
    expect(framesOf(((await person.submit(question, { logout: { decision: "leave" } })) as Page).html)).toHaveLength(1);
    await application.signIn(person);
    const account = await person.openPage("/account/sessions");
    const sid = /sessions\/end\?sid=([^"]+)"/.exec(account.html)![1]!;
    const confirm = await person.openPage(`/account/sessions/end?sid=${sid}`);
    expect(framesOf(((await person.submit(confirm)) as Page).html)).toHaveLength(1);
  });

  test("a client that was disabled meanwhile is not loaded", async () => {
    const disabled = await Application.register(fixtures, { frontchannel_logout_uri: logoutUri });
    const person = await browser();
    await disabled.signIn(person);
    const { idToken } = await silent.signIn(person);
    await fixtures.admin.require("PATCH", `/clients/${disabled.client.client_id}`, { status: "disabled" });
    const url = silent.logoutUrl({ id_token_hint: idToken, post_logout_redirect_uri: goodbye });
    expect((await person.send(url)).headers.get("location")).toBe(goodbye);
  });
});

test("§2: a URI with another origin than the client's redirection URIs is refused", async () => {
  const register = Application.register(fixtures, { frontchannel_logout_uri: "https://victim.example/" });
  await expect(register).rejects.toThrow("frontchannel_logout_uri");
});
