/**
 * **Sign-in with providers that run**: another instance of this provider, which challenges a wrong secret, and whose ID tokens have the claims of
 * scopes; and node-oidc-provider, which has them at UserInfo.
 */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { type NodeOidcProvider, startNodeOidcProvider } from "../fixtures/node-oidc-provider.ts";
import { Application, type Tokens } from "./fixtures/application.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { ProviderFixtures } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures as twin } from "./fixtures/shared-provider.ts";

const domain = "corp.example";
const scope = "openid profile email";
const lines: string[] = [];

let provider: LocalProvider;
let fixtures: ProviderFixtures;
let application: Application;
let peer: NodeOidcProvider;
/** The client secrets of this provider at the other ones, by the id of the upstream. */
const secrets = new Map<string, string>();

async function addUpstream(id: string, issuer: string, client: { client_id: string; client_secret: string }) {
  secrets.set(id, client.client_secret);
  const { client_id, client_secret } = client;
  await fixtures.admin.require("POST", "/upstreams", {
    ...{ upstream_id: id, name: `Provider ${id}`, issuer, client_id, client_secret },
    ...{ trusted_domains: [domain], sign_up: "anyone" },
  });
}

beforeAll(async () => {
  provider = await startLocalProvider({
    shape: inject("shape"),
    vars: { LEASE_MS: "300" },
    onLog: ({ message }) => lines.push(message),
  });
  fixtures = new ProviderFixtures(provider);
  application = await Application.register(fixtures, {}, { scope });
  const atPeer = `${provider.issuer}/upstream/peer`;
  peer = await startNodeOidcProvider(`${atPeer}/callback`, { logoutUri: `${atPeer}/backchannel-logout` });
  const there = await twin.client({
    ...{ grant_types: ["authorization_code"], response_types: ["code"], scope },
    redirect_uris: [`${provider.issuer}/upstream/twin/callback`],
  });
  await addUpstream("twin", twin.issuer, there);
  await addUpstream("peer", peer.issuer, peer.client);
  await fixtures.admin.require("PATCH", "/upstreams/peer", { backchannel_logout: true });
});

afterAll(async () => {
  await provider?.stop();
  await peer?.stop();
});

/** A person at the other provider, with one browser for it. */
interface Visitor {
  readonly email: string;
  /** From the redirect to that provider to its redirect back. */
  visit(url: URL): Promise<URL>;
  /** Signs out there; the other provider has then received the responses to its logout tokens. */
  signOut?(): Promise<string>;
}

const newEmail = () => `pat-${randomUUID()}@${domain}`;

const newVisitor: Readonly<Record<string, () => Promise<Visitor>>> = {
  async twin() {
    const email = newEmail();
    const person = await registerPerson(twin, { name: "Pat Person", email, email_verified: true });
    const browser = person.browser();
    return { email, visit: async (url) => (await browser.visit(url)).url };
  },
  async peer() {
    const email = newEmail();
    const browser = new Person(peer.issuer, { username: email, password: "any" });
    const visit = async (url: URL) => {
      let reached = await browser.open(url);
      // Its pages to sign in and to consent.
      for (let page = 0; page < 2 && reached.kind === "page"; page += 1) {
        reached = await browser.submit(reached, { [reached.name]: { login: email, password: "any" } });
      }
      if (reached.kind === "page") throw new Error(`a page of the other provider: ${textOf(reached.html)}`);
      return reached.url;
    };
    const signOut = async () => {
      const { html } = await browser.openPage("/session/end");
      const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(html) ?? [];
      const body = new URLSearchParams({ xsrf, logout: "yes" });
      const done = await browser.open("/session/end/confirm", { method: "POST", body });
      return done.kind === "page" ? textOf(done.html) : done.url.href;
    };
    return { email, visit, signOut };
  },
};

/** A browser at this provider, of a person with this password here or none. */
const newBrowser = (username = "", password = "") => new Person(provider.issuer, { username, password });

/** From the application to the redirect back from the other provider. */
async function comeBack(id: string, browser: Person, visitor: Visitor, start: URL): Promise<URL> {
  const left = await browser.submit(await browser.openPage(start), { "sign-in": { upstream: id } });
  if (left.kind === "page") throw new Error(`not sent to ${id}: ${textOf(left.html)}`);
  return visitor.visit(left.url);
}

async function signIn(id: string, visitor: Visitor): Promise<Tokens> {
  const browser = newBrowser();
  const start = application.authorizationUrl();
  const { url } = await browser.visit(await comeBack(id, browser, visitor, start));
  const response = await application.redeem({ authorizationResponse: url.searchParams });
  return application.readTokens(response, start.searchParams.get("nonce") ?? undefined);
}

describe("OpenID Connect Back-Channel Logout 1.0, from node-oidc-provider", () => {
  const userInfo = async ({ accessToken }: Tokens) =>
    (await fetch(`${provider.issuer}/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })).status;

  test("§2.7: who signs out there is signed out here, tokens included, when that provider has its response; others are not", async () => {
    const [visitor, other] = [await newVisitor["peer"]!(), await newVisitor["peer"]!()];
    const [tokens, others] = [await signIn("peer", visitor), await signIn("peer", other)];
    expect([await userInfo(tokens), await userInfo(others)]).toEqual([200, 200]);
    expect(await visitor.signOut!()).toMatch(/signed? ?out|success/i);
    expect(peer.unanswered).toEqual([]);
    expect([await userInfo(tokens), await userInfo(others)]).toEqual([401, 200]);
    expect(await userInfo(await signIn("peer", visitor))).toBe(200);
  });
});

const formTokenOf = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "";

describe.each(["twin", "peer"])("%s", (id) => {
  test("a newcomer gets an account with the claims that they have there, and the next sign-in finds it", async () => {
    const visitor = await newVisitor[id]!();
    const { claims } = await signIn(id, visitor);
    expect(claims).toMatchObject({
      ...{ name: "Pat Person", email: visitor.email, email_verified: true },
      ...{ acr: "urn:edge-op:acr:upstream", amr: ["fed"] },
    });
    expect((await signIn(id, visitor)).claims.sub).toBe(claims.sub);
    const other = await signIn(id, await newVisitor[id]!());
    expect(other.claims.sub).not.toBe(claims.sub);
  });

  test("with a wrong client secret nobody is signed in, the log says why, and the right one is in force at once", async () => {
    const visitor = await newVisitor[id]!();
    const replaceSecret = (client_secret?: string) =>
      fixtures.admin.require("PATCH", `/upstreams/${id}`, { client_secret });
    await replaceSecret("of-somebody-else");
    const browser = newBrowser();
    lines.length = 0;
    const back = await comeBack(id, browser, visitor, application.authorizationUrl());
    const page = await browser.openPage(back);
    expect([page.name, page.status]).toEqual(["sign-in", 400]);
    expect(textOf(page.html)).toContain(`Provider ${id} refused this sign-in`);
    const failure = await vi.waitUntil(() => lines.find((line) => line.includes("upstream-failed")), 10_000);
    expect(failure).toContain("(invalid_client)");
    expect((await browser.openPage("/account")).name).toBe("sign-in");
    await replaceSecret(secrets.get(id));
    expect((await signIn(id, visitor)).claims["email"]).toBe(visitor.email);
  });

  test("a person connects it at their account page, signs in with it, and disconnects it", async () => {
    const visitor = await newVisitor[id]!();
    const [username, password] = [`person-${randomUUID()}`, "a long enough password"];
    const sub = await fixtures.user({ username, password });
    const browser = newBrowser(username, password);
    const account = await browser.submit(await browser.openPage("/account"));
    if (account.kind === "arrival" || account.name !== "account") throw new Error("not at the account page");
    const { html: security } = await browser.openPage("/account/security");
    const body = new URLSearchParams({ form_token: formTokenOf(security), upstream: id });
    const left = await browser.open("/account/identities", { method: "POST", body });
    if (left.kind === "page") throw new Error(`not sent to ${id}: ${textOf(left.html)}`);
    const question = await browser.openPage(await visitor.visit(left.url));
    expect(textOf(question.html)).toContain(`At Provider ${id}: ${visitor.email}`);
    await browser.submit(question, { confirm: { decision: "connect" } });
    expect((await signIn(id, visitor)).claims.sub).toBe(sub);
    const { html } = await browser.openPage("/account/security");
    expect(textOf(html)).toContain(visitor.email);
    const [remove = ""] = /\/account\/identities\/remove\?identity=[^"]+/.exec(html) ?? [];
    await browser.submit(await browser.openPage(remove));
    expect(textOf((await browser.openPage("/account/security")).html)).not.toContain(visitor.email);
    // Somebody new, because nothing connects them any more.
    expect((await signIn(id, visitor)).claims.sub).not.toBe(sub);
  });
});
