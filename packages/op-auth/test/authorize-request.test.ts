import { describe, expect, it } from "vitest";
import { seedClient } from "../../../test/fixtures/seed.ts";
import {
  type AuthorizationParameters,
  authEnv,
  authorizationQuery,
  codeClient,
  locationOf,
  redirectUri,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

const { fixtures } = useDeployment();

describe("requests that are not redirected", () => {
  it.each<[string, AuthorizationParameters]>([
    ["an unknown client", { client_id: "nobody" }],
    ["no client_id", { client_id: undefined }],
    ["no redirect_uri", { redirect_uri: undefined }],
    ["another redirect_uri", { redirect_uri: "https://app.example.com/other" }],
    ["a slash more", { redirect_uri: `${redirectUri}/` }],
    ["a query more", { redirect_uri: `${redirectUri}?next=https://evil.example` }],
    ["another case", { redirect_uri: "https://APP.example.com/callback" }],
    ["another port", { redirect_uri: "https://app.example.com:8443/callback" }],
    ["a path that leads back", { redirect_uri: "https://app.example.com/x/../callback" }],
    ["user information", { redirect_uri: "https://app.example.com@evil.example/callback" }],
    ["a fragment", { redirect_uri: `${redirectUri}#x` }],
    ["javascript", { redirect_uri: "javascript:alert(1)" }],
    ["an unknown request_uri", { request_uri: "urn:ietf:params:oauth:request_uri:ch.g1.wnam.0.nothing" }],
    ["a request_uri to fetch without redirect URI", { request_uri: "https://evil.example/r", redirect_uri: undefined }],
  ])("RFC 6749 §4.1.2.1: %s shows a page", async (_, parameters) => {
    const response = await fixtures.browser().authorize(parameters);
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  it("RFC 9110 §15.5.6: other methods are refused with Allow", async () => {
    const response = await fixtures.browser().send("/authorize", { method: "PUT" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST");
  });

  it("RFC 8252 §7.3: a loopback redirect may have any port, but no other difference", async () => {
    const uri = "http://127.0.0.1/callback";
    await seedClient(authEnv, "native", { ...codeClient, token_endpoint_auth_method: "none", redirect_uris: [uri] });
    const ask = async (given: string) => {
      const response = await fixtures.browser().authorize({ client_id: "native", redirect_uri: given, prompt: "none" });
      return response.headers.get("location");
    };
    expect(await ask("http://127.0.0.1:51004/callback")).toMatch(
      /^http:\/\/127\.0\.0\.1:51004\/callback\?error=login_req/,
    );
    expect(await ask("http://127.0.0.1:51004/other")).toBeNull();
    expect(await ask("http://localhost:51004/callback")).toBeNull();
    expect(await ask("http://127.0.0.1:51004@evil.example/callback")).toBeNull();
  });
});

describe("errors that are returned to the client", () => {
  it.each<[string, AuthorizationParameters, string]>([
    ["RFC 6749 §3.1.1: response_type missing", { response_type: undefined }, "invalid_request"],
    ["RFC 6749 §4.1.2.1: response_type=token", { response_type: "token" }, "unsupported_response_type"],
    ["RFC 9700 §2.1.2: response_type=code id_token", { response_type: "code id_token" }, "unsupported_response_type"],
    [
      "RFC 9700 §2.1.1: neither PKCE nor a nonce",
      { code_challenge: undefined, code_challenge_method: undefined, nonce: undefined },
      "invalid_request",
    ],
    ["RFC 7636 §4.3: a challenge without method means plain", { code_challenge_method: undefined }, "invalid_request"],
    ["RFC 7636 §4.2: plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["RFC 7636 §4.2: a challenge of the wrong length", { code_challenge: "abc" }, "invalid_request"],
    ["RFC 6749 §3.3: scope missing", { scope: undefined }, "invalid_scope"],
    ["RFC 6749 §3.3: nothing of the scope registered", { scope: "other" }, "invalid_scope"],
    ["RFC 6749 §3.3: malformed scope", { scope: 'openid "x"' }, "invalid_scope"],
    ["RFC 8707 §2: a resource that is not allowed", { resource: "https://other.example.com" }, "invalid_target"],
    ["RFC 8707 §2: a resource with fragment", { resource: "https://api.example.com#x" }, "invalid_target"],
    ["OIDC Core §3.1.2.1: prompt=none with another", { prompt: "none login" }, "invalid_request"],
    ["OIDC Core §3.1.2.1: unknown prompt", { prompt: "dance" }, "invalid_request"],
    ["OIDC Core §3.1.2.1: max_age no number", { max_age: "-1" }, "invalid_request"],
    ["OIDC Core §3.1.2.1: id_token_hint not ours", { id_token_hint: "a.b.c" }, "invalid_request"],
    ["OIDC Core §5.5: claims no JSON", { claims: "{" }, "invalid_request"],
    ["OIDC Core §5.5: claims no object", { claims: '{"userinfo":[]}' }, "invalid_request"],
    ["OIDC Core §6.2: a request_uri to fetch", { request_uri: "https://evil.example/r" }, "request_uri_not_supported"],
    ["OIDC Core §7.2.1: registration", { registration: "{}" }, "registration_not_supported"],
    ["OAuth multiple response types §2.1: unknown response_mode", { response_mode: "smoke" }, "invalid_request"],
  ])("%s", async (_, parameters, error) => {
    const answer = sentToClient(await fixtures.browser().authorize(parameters));
    expect(answer).toMatchObject({ error, state: "the-state", iss: "https://op.example.com" });
    expect(answer.error_description).toBeDefined();
  });

  it("RFC 6749 §4.1.2.1: a client that did not register the code flow may not use it", async () => {
    await seedClient(authEnv, "machine", { redirect_uris: [redirectUri] });
    const answer = sentToClient(await fixtures.browser().authorize({ client_id: "machine" }));
    expect(answer.error).toBe("unauthorized_client");
  });

  it("RFC 6749 §3.1.2: a registered query is kept", async () => {
    const uri = "https://app.example.com/cb?tenant=a%20b";
    await seedClient(authEnv, "query", { ...codeClient, redirect_uris: [uri] });
    const response = await fixtures.browser().authorize({ client_id: "query", redirect_uri: uri, prompt: "none" });
    expect(locationOf(response)).toMatch(/^https:\/\/app\.example\.com\/cb\?tenant=a%20b&error=login_required&/);
  });
});

describe("response modes", () => {
  it("OAuth form post §2: the response is a form that submits itself to the client", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    const response = await browser.authorize({ response_mode: "form_post", state: `"><script>alert(1)</script>` });
    expect(response.status).toBe(200);
    const html = await response.text();
    expect(html).toContain(`<form method="post" action="${redirectUri}"`);
    expect(html).toMatch(/name="code" value="ac\.g1\.wnam\./);
    expect(html).toContain('name="iss" value="https://op.example.com"');
    expect(html).not.toContain("<script>alert");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-security-policy")).not.toContain("form-action");
  });

  it("OAuth form post §2: errors too", async () => {
    const html = await (await fixtures.browser().authorize({ response_mode: "form_post", prompt: "none" })).text();
    expect(html).toContain('name="error" value="login_required"');
  });

  it("OAuth multiple response types §2.1: fragment only when requested", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    expect(locationOf(await browser.authorize({ response_mode: "fragment" }))).toMatch(
      /^https:\/\/app\.example\.com\/callback#code=ac\.[^?]*&state=the-state&iss=https%3A%2F%2Fop\.example\.com$/,
    );
    expect(locationOf(await browser.authorize())).toMatch(/callback\?code=/);
  });
});

describe("posted requests", () => {
  it("OIDC Core §3.1.2.1: a POST from another site, which carries no cookie, continues as a GET that does", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    const crossSite = fixtures.browser();
    const next = locationOf(
      await crossSite.post("/authorize", Object.fromEntries(authorizationQuery({ prompt: "none" }))),
    );
    expect(next).toMatch(/^\/authorize\?client_id=app&request_uri=urn/);
    expect(sentToClient(await browser.get(next)).code).toBeDefined();
    // A reload: the request is kept for a minute.
    expect(sentToClient(await browser.get(next)).code).toBeDefined();
    expect((await browser.get(next.replace("client_id=app", "client_id=other"))).status).toBe(400);
  });

  it("OIDC Core §3.1.2.1: a POST with the cookie gets a response at once", async () => {
    const browser = fixtures.browser();
    await browser.signInWhole();
    expect(sentToClient(await browser.post("/authorize", Object.fromEntries(authorizationQuery()))).code).toBeDefined();
  });
});
