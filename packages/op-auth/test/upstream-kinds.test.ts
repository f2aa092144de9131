/** **Google, Microsoft, Apple and GitHub, as they document themselves**: whom each signs in, and which addresses are believed. */

import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { authEnv, locationOf, sentToClient, stepOf, useDeployment } from "./fixtures/auth-fixtures.ts";
import { pressUpstream, StandInUpstream, seedUpstream, upstreamSecret } from "./fixtures/stand-in-upstream.ts";

const tid = "11111111-1111-1111-1111-111111111111";
const otherTid = "22222222-2222-2222-2222-222222222222";
const personalTid = "9188040d-6c67-4c5b-b112-36a304b66dad";
const microsoftOf = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;

const { fixtures, browser } = useDeployment({ skip_consent: true });

/** A record of a kind, without the members of an OpenID provider. */
function seedKind(kind: string, document: Record<string, unknown> = {}, secret = upstreamSecret): Promise<void> {
  return seedUpstream({ document: { kind, issuer: undefined, trusted_domains: [], ...document }, secret });
}

async function newUser(): Promise<Record<string, unknown> | undefined> {
  const row = await authEnv.DB.prepare("SELECT claims FROM users WHERE sub LIKE 'u%'").first<{ claims: string }>();
  return row === null ? undefined : (JSON.parse(row.claims) as Record<string, unknown>);
}

async function identity(): Promise<Record<string, unknown> | null> {
  return authEnv.DB.prepare("SELECT issuer, subject FROM user_identities").first();
}

async function signIn(upstream: StandInUpstream): Promise<Response> {
  return browser.once(upstream.signIn(await pressUpstream(browser, await browser.pageOf())));
}

describe("Google", () => {
  it.each<[string, Record<string, unknown>, boolean]>([
    ["at gmail.com", { email: "pat@gmail.com", email_verified: true }, true],
    ["of an organization", { email: "pat@corp.example", email_verified: true, hd: "corp.example" }, true],
    ["elsewhere", { email: "pat@corp.example", email_verified: true }, false],
    ["elsewhere, with an empty hd", { email: "pat@corp.example", email_verified: true, hd: "" }, false],
    ["at a look-alike", { email: "pat@gmail.com.evil.net", email_verified: true }, false],
    ["at gmail.com, not verified", { email: "pat@gmail.com" }, false],
  ])("an address %s: %s", async (_, claims, isBelieved) => {
    await seedKind("google");
    const upstream = new StandInUpstream({ claims, parameters: { iss: undefined } }, "https://accounts.google.com");
    upstream.behaviour.metadata = { authorization_response_iss_parameter_supported: undefined };
    expect(sentToClient(await signIn(upstream.install()))["code"]).toBeDefined();
    expect(await newUser()).toMatchObject({ email: claims["email"], email_verified: isBelieved });
  });

  it("the legacy form of the issuer, without a scheme, is refused", async () => {
    await seedKind("google");
    const upstream = new StandInUpstream({ claims: { iss: "accounts.google.com" } }, "https://accounts.google.com");
    expect(stepOf(locationOf(await signIn(upstream.install())))).toBe("sign-in");
    expect(await newUser()).toBeUndefined();
  });
});

describe("Microsoft", () => {
  async function signInFrom(claims: Record<string, unknown>, tenants = [tid]): Promise<Response> {
    await seedKind("microsoft", { tenants });
    const isOne = tenants.length === 1;
    const base = microsoftOf(isOne ? tid : tenants.includes(personalTid) ? "common" : "organizations");
    const upstream = new StandInUpstream({ claims, parameters: { iss: undefined } }, base);
    upstream.behaviour.metadata = {
      issuer: isOne ? base : microsoftOf("{tenantid}"),
      authorization_response_iss_parameter_supported: undefined,
    };
    return signIn(upstream.install());
  }

  it.each<[string, unknown, boolean]>([
    ["true", true, true],
    ["the text 1", "1", true],
    ["false", false, false],
    ["the text 0", "0", false],
    ["missing", undefined, false],
  ])("an address is believed only by xms_edov: %s", async (_, xms_edov, isBelieved) => {
    const claims = { iss: microsoftOf(tid), tid, email: "alice@corp.example", email_verified: true, xms_edov };
    expect(sentToClient(await signInFrom(claims))["code"]).toBeDefined();
    expect(await newUser()).toMatchObject({ email: "alice@corp.example", email_verified: isBelieved });
  });

  it("of several directories, the identity contains the one", async () => {
    const claims = { iss: microsoftOf(otherTid), tid: otherTid };
    expect(sentToClient(await signInFrom(claims, [tid, otherTid]))["code"]).toBeDefined();
    expect(await identity()).toEqual({ issuer: microsoftOf(otherTid), subject: "their-1" });
  });

  it("personal accounts beside a directory sign in at common, because organizations does not admit them", async () => {
    const claims = { iss: microsoftOf(personalTid), tid: personalTid };
    expect(sentToClient(await signInFrom(claims, [tid, personalTid]))["code"]).toBeDefined();
    expect(await identity()).toEqual({ issuer: microsoftOf(personalTid), subject: "their-1" });
  });

  it.each<[string, Record<string, unknown>]>([
    [
      "of another directory",
      { iss: microsoftOf("33333333-3333-3333-3333-333333333333"), tid: "33333333-3333-3333-3333-333333333333" },
    ],
    ["whose tid is not that of the issuer", { iss: microsoftOf("33333333-3333-3333-3333-333333333333"), tid }],
    ["without a tid", { iss: microsoftOf("undefined") }],
  ])("a person %s is refused", async (_, claims) => {
    expect(stepOf(locationOf(await signInFrom(claims, [tid, otherTid])))).toBe("sign-in");
    expect(await newUser()).toBeUndefined();
  });
});

describe("Apple", () => {
  const issuer = "https://appleid.apple.com";
  let pair: CryptoKeyPair;
  let upstream: StandInUpstream;
  beforeEach(async () => {
    pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"])) as CryptoKeyPair;
    const der = (await crypto.subtle.exportKey("pkcs8", pair.privateKey)) as ArrayBuffer;
    const pem = `-----BEGIN PRIVATE KEY-----\n${btoa(String.fromCharCode(...new Uint8Array(der)))}\n-----END PRIVATE KEY-----`;
    await seedKind("apple", { team_id: "TEAM", key_id: "KEY" }, pem);
    upstream = new StandInUpstream({ parameters: { iss: undefined } }, issuer);
    upstream.behaviour.metadata = { authorization_response_iss_parameter_supported: undefined };
    upstream.install();
  });

  /** Apple posts its response: without Lax cookies, as a browser sends it. */
  async function postBack(location: string, user?: unknown): Promise<string> {
    const callback = new URL(upstream.signIn(location), "https://op.example.com");
    const body = new URLSearchParams(callback.search);
    if (user !== undefined) body.set("user", JSON.stringify(user));
    const headers = { "content-type": "application/x-www-form-urlencoded", origin: issuer };
    const elsewhere = fixtures.browser();
    return locationOf(await elsewhere.once(callback.pathname, { method: "POST", headers, body: body.toString() }));
  }

  it("posts its response, which goes on in the browser that began; the secret is a JWT of this request", async () => {
    upstream.behaviour.claims = { email: "x@privaterelay.appleid.com", email_verified: "true" };
    const location = await pressUpstream(browser, await browser.pageOf());
    expect(new URL(location).searchParams.get("response_mode")).toBe("form_post");
    const path = await postBack(location, {
      name: { firstName: "Pat", lastName: "Example" },
      email: "alice@example.com",
    });
    expect(path).not.toContain("Pat");
    expect(sentToClient(await browser.once(path))["code"]).toBeDefined();
    expect(await newUser()).toMatchObject({
      ...{ given_name: "Pat", family_name: "Example", name: "Pat Example" },
      ...{ email: "x@privaterelay.appleid.com", email_verified: true },
    });
    const secret = upstream.forms.at(-1)!.get("client_secret")!;
    expect(decodeJwt(secret)).toMatchObject({ iss: "TEAM", sub: "here", aud: issuer });
    const { exp, iat } = decodeJwt(secret);
    expect(exp! - iat!).toBe(300);
  });

  it.each<[string, unknown]>([
    ["an address and a subject", { email: "alice@example.com", sub: "x", email_verified: true }],
    ["a name that is no text", { name: { firstName: { a: 1 }, lastName: ["b"] } }],
    ["no object", "alice@example.com"],
  ])("a forged `user` gives a name and nothing else: %s", async (_, user) => {
    const path = await postBack(await pressUpstream(browser, await browser.pageOf()), user);
    expect(sentToClient(await browser.once(path))["code"]).toBeDefined();
    expect(await newUser()).toEqual({ updated_at: expect.any(Number) });
    expect(await identity()).toEqual({ issuer, subject: "their-1" });
  });

  it("a `user` in the URL is not read", async () => {
    const callback = upstream.signIn(await pressUpstream(browser, await browser.pageOf()));
    const user = encodeURIComponent(JSON.stringify({ name: { firstName: "Mallory" } }));
    expect(sentToClient(await browser.once(`${callback}&user=${user}`))["code"]).toBeDefined();
    expect(await newUser()).toEqual({ updated_at: expect.any(Number) });
  });

  it("a posted response goes on only in the browser that began", async () => {
    const path = await postBack(await pressUpstream(browser, await browser.pageOf()));
    expect((await fixtures.browser().once(path)).status).toBe(400);
    expect(await newUser()).toBeUndefined();
  });
});

describe("GitHub", () => {
  const verified = { email: "pat@example.com", primary: true, verified: true };

  async function signInWith(
    user: unknown,
    emails: unknown,
    token: unknown = { access_token: "at", token_type: "bearer", scope: "user:email" },
  ) {
    await seedKind("github");
    const upstream = new StandInUpstream(
      { parameters: { iss: "https://github.com/login/oauth" } },
      "https://github.com",
    );
    upstream.behaviour.responses = {
      "/login/oauth/access_token": () => Response.json(token),
      "https://api.github.com/user": () => Response.json(user),
      "https://api.github.com/user/emails": () => Response.json(emails),
    };
    return signIn(upstream.install());
  }

  it("the person is the number of the account, with the primary verified address", async () => {
    const other = { email: "other@example.com", primary: false, verified: true };
    const response = await signInWith({ id: 42, login: "pat", name: "Pat" }, [other, verified]);
    expect(sentToClient(response)["code"]).toBeDefined();
    expect(await identity()).toEqual({ issuer: "https://github.com/login/oauth", subject: "42" });
    expect(await newUser()).toMatchObject({
      name: "Pat",
      preferred_username: "pat",
      email: "pat@example.com",
      email_verified: true,
    });
  });

  it.each<[string, unknown]>([
    ["the primary one is not verified", [{ ...verified, verified: false }]],
    ["none is primary", [{ ...verified, primary: false }]],
    ["there is none", []],
    ["the response is no list", { message: "Not Found" }],
  ])("no address is taken: %s", async (_, emails) => {
    expect(sentToClient(await signInWith({ id: 42, login: "pat" }, emails))["code"]).toBeDefined();
    expect(await newUser()).not.toHaveProperty("email");
  });

  it.each<[string, unknown, unknown]>([
    ["an error with the status 200", { id: 42 }, { error: "bad_verification_code" }],
    ["no number", { id: "42", login: "pat" }, undefined],
  ])("%s signs nobody in", async (_, user, token) => {
    expect(stepOf(locationOf(await signInWith(user, [verified], token)))).toBe("sign-in");
    expect(await newUser()).toBeUndefined();
  });
});
