import { beforeEach, describe, expect, it } from "vitest";
import { type MetadataOverrides, seedClient } from "../../../test/fixtures/seed.ts";
import {
  type AuthorizationParameters,
  authEnv,
  codeClient,
  locationOf,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const https = "https://app.example.com/native";
const loopback = "http://127.0.0.1/callback";
const schemes = [
  ["a loopback port", "http://127.0.0.1:51004/callback"],
  ["an IPv6 loopback port", "http://[::1]:51004/callback"],
  ["a private-use scheme", "com.example.app:/callback"],
] as const;

const { fixtures, browser } = useDeployment();

/** A client with every kind of redirect URI; public by default. */
async function register(clientId: string, metadata: MetadataOverrides = {}): Promise<void> {
  await seedClient(authEnv, clientId, {
    ...codeClient,
    application_type: "native",
    token_endpoint_auth_method: "none",
    redirect_uris: [loopback, "http://[::1]/callback", "com.example.app:/callback", https],
    ...metadata,
  });
}

describe("RFC 8252 §8.6: a public client whose redirect URI any program on the device may receive", () => {
  beforeEach(() => register("native"));

  it.each(schemes)("on %s requests consent each time, despite earlier consent", async (_, uri) => {
    const parameters = { client_id: "native", redirect_uri: uri };
    expect((await browser.signInWhole(parameters)).get("code")).not.toBeNull();
    for (let time = 0; time < 2; time += 1) {
      const page = locationOf(await browser.authorize(parameters));
      expect(page).toMatch(/\/consent\?f=/);
      expect(sentToClient(await browser.allow(page), uri).code).toBeDefined();
    }
  });

  it.each(schemes)("on %s gets consent_required for prompt=none", async (_, uri) => {
    const parameters = { client_id: "native", redirect_uri: uri };
    await browser.signInWhole(parameters);
    const response = sentToClient(await browser.authorize({ ...parameters, prompt: "none" }), uri);
    expect(response).toMatchObject({ error: "consent_required", state: "the-state", iss: "https://op.example.com" });
  });

  it("requires consent even directly after the sign-in of the same request", async () => {
    const parameters = { client_id: "native", redirect_uri: loopback };
    await browser.signInWhole(parameters);
    const page = locationOf(await browser.authorize({ ...parameters, prompt: "login" }));
    expect(locationOf(await browser.signIn(page))).toMatch(/\/consent\?f=/);
  });

  it("consent given for https does not apply there, and still applies for https", async () => {
    await browser.signInWhole({ client_id: "native", redirect_uri: https });
    const silent: AuthorizationParameters = { client_id: "native", prompt: "none" };
    const response = sentToClient(await browser.authorize({ ...silent, redirect_uri: loopback }), loopback);
    expect(response.error).toBe("consent_required");
    expect(sentToClient(await browser.authorize({ ...silent, redirect_uri: https }), https).code).toBeDefined();
  });
});

describe("RFC 8252 §8.6: a client whose identity is assured has its consent remembered", () => {
  it("a public one by an https redirect URI", async () => {
    await register("native");
    const parameters = { client_id: "native", redirect_uri: https };
    await browser.signInWhole(parameters);
    expect(sentToClient(await browser.authorize({ ...parameters, prompt: "none" }), https).code).toBeDefined();
  });

  it.each(schemes)("a confidential one on %s too", async (_, uri) => {
    await register("confidential", { token_endpoint_auth_method: "client_secret_basic" });
    const parameters = { client_id: "confidential", redirect_uri: uri };
    await browser.signInWhole(parameters);
    expect(sentToClient(await browser.authorize({ ...parameters, prompt: "none" }), uri).code).toBeDefined();
  });
});

describe("RFC 8252 §8.6: a first-party client without authentication (skip_consent)", () => {
  const parameters = { client_id: "own", redirect_uri: loopback };

  beforeEach(() => register("own", { skip_consent: true }));

  it("accepts a sign-in made for its request", async () => {
    const page = locationOf(await browser.authorize(parameters));
    expect(sentToClient(await browser.signIn(page), loopback).code).toBeDefined();
  });

  it("requires confirmation by the session's owner, and returns nothing without it", async () => {
    await browser.signIn(locationOf(await browser.authorize(parameters)));
    const silent = await browser.authorize({ ...parameters, prompt: "none" });
    expect(sentToClient(silent, loopback).error).toBe("consent_required");
    const page = locationOf(await browser.authorize(parameters));
    expect(page).toMatch(/\/consent\?f=/);
    expect(sentToClient(await browser.allow(page), loopback).code).toBeDefined();
  });

  it("by https keeps the previous behaviour", async () => {
    const secure = { ...parameters, redirect_uri: https };
    await browser.signIn(locationOf(await browser.authorize(secure)));
    expect(sentToClient(await browser.authorize({ ...secure, prompt: "none" }), https).code).toBeDefined();
  });
});

describe("ADR 9: a web client on http://localhost", () => {
  const uri = "http://localhost:3000/callback";
  const development = { ...authEnv, ISSUER: "http://localhost:8787" };
  const parameters = { client_id: "spa", redirect_uri: uri };

  function registerWeb(method: "none" | "client_secret_basic", type?: "web" | "native"): Promise<void> {
    const metadata = { token_endpoint_auth_method: method, redirect_uris: [uri] };
    return register("spa", { ...metadata, application_type: type ?? "web" });
  }

  it.each([
    ["an https issuer", authEnv],
    ["an issuer on localhost", development],
  ])("signs in silently with %s if it authenticates", async (_, bindings) => {
    await registerWeb("client_secret_basic");
    const visitor = fixtures.browser(bindings);
    await visitor.signInWhole(parameters);
    expect(sentToClient(await visitor.authorize({ ...parameters, prompt: "none" }), uri).code).toBeDefined();
  });

  it("signs in silently without authentication if the issuer is on localhost too", async () => {
    await registerWeb("none");
    const visitor = fixtures.browser(development);
    await visitor.signInWhole(parameters);
    expect(sentToClient(await visitor.authorize({ ...parameters, prompt: "none" }), uri).code).toBeDefined();
    expect(sentToClient(await visitor.authorize(parameters), uri).code).toBeDefined();
  });

  it.each([
    ["a public web client, https issuer", "web", authEnv],
    ["a public native client, issuer on localhost", "native", development],
  ] as const)("RFC 8252 §8.6: consent each time for %s", async (_, type, bindings) => {
    await registerWeb("none", type);
    const visitor = fixtures.browser(bindings);
    await visitor.signInWhole(parameters);
    expect(locationOf(await visitor.authorize(parameters))).toMatch(/\/consent\?f=/);
    const silent = await visitor.authorize({ ...parameters, prompt: "none" });
    expect(sentToClient(silent, uri).error).toBe("consent_required");
  });
});
