import { countCalls } from "@edge-op/shared/http/count-calls";
import { describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { postForm } from "../../../test/fixtures/call.ts";
import {
  type AuthorizationParameters,
  authEnv,
  authorizationPath,
  authorizationQuery,
  locationOf,
  redirectUri,
  sentToClient,
  useDeployment,
} from "./fixtures/auth-fixtures.ts";

useAnnouncedSetUp();

/** RFC 6749 §3.1: "Request and response parameters MUST NOT be included more than once." */
const description = expect.stringMatching(/^The parameter [a-z_]+ is repeated; it may appear only once\.$/);
const iss = "https://op.example.com";

const { fixtures, browser } = useDeployment();

function ask(repeat: string, parameters: AuthorizationParameters = {}): Promise<Response> {
  return browser.get(`${authorizationPath(parameters)}&${repeat}`);
}

describe("RFC 6749 §3.1: a repeated parameter", () => {
  it.each([
    "response_type=code",
    "scope=openid+email",
    "nonce=the-nonce",
    "code_challenge_method=S256",
    "prompt=login&prompt=consent",
    "request=a.b.c&request=a.b.c",
    "request_uri=urn:a&request_uri=urn:b",
    "unknown=1&unknown=2",
    "max_age=&max_age=7",
  ])("%s is returned to the client", async (repeat) => {
    expect(sentToClient(await ask(repeat))).toEqual({
      error: "invalid_request",
      error_description: description,
      state: "the-state",
      iss,
    });
  });

  it("state: if repeated, neither value is returned", async () => {
    const answer = sentToClient(await ask("state=another"));
    expect(answer).toEqual({ error: "invalid_request", error_description: description, iss });
  });

  it("response_mode: if repeated, neither value counts, and the response is a query", async () => {
    const repeats = "response_mode=form_post&response_mode=fragment";
    expect(sentToClient(await ask(repeats)).error).toBe("invalid_request");
  });

  it("the response uses a response_mode that appears once", async () => {
    const fragment = locationOf(await ask("scope=openid", { response_mode: "fragment" }));
    expect(fragment).toMatch(/^https:\/\/app\.example\.com\/callback#error=invalid_request&.*state=the-state&iss=/);
    const posted = await (await ask("scope=openid", { response_mode: "form_post" })).text();
    expect(posted).toContain(`<form method="post" action="${redirectUri}"`);
    expect(posted).toContain('name="error" value="invalid_request"');
    expect(posted).toContain('name="state" value="the-state"');
  });

  it("prompt=none: no page is shown and no user is signed in, with or without a session", async () => {
    const repeats = ["scope=openid", "prompt=none"];
    for (const repeat of repeats)
      expect(sentToClient(await ask(repeat, { prompt: "none" })).error).toBe("invalid_request");
    await browser.signInWhole();
    for (const repeat of repeats) {
      const answer = sentToClient(await ask(repeat, { prompt: "none" }));
      expect(answer).toEqual({ error: "invalid_request", error_description: description, state: "the-state", iss });
    }
  });

  it("RFC 8707 §2: resource may be repeated", async () => {
    const page = locationOf(await ask("resource=https://api.example.com&resource=https://api.example.com"));
    expect(page).toMatch(/sign-in\?f=/);
  });

  it.each(["https://api.example.com/", "HTTPS://API.Example.com:443"])(
    "RFC 3986 §6.2: resource may be spelled as an equal URL of the registered one: %s",
    async (resource) => {
      expect(locationOf(await ask(`resource=${encodeURIComponent(resource)}`))).toMatch(/sign-in\?f=/);
    },
  );

  it.each<[string, string, AuthorizationParameters]>([
    ["client_id is the repeated one", "client_id=app", {}],
    ["client_id is repeated with another", "client_id=other", {}],
    ["redirect_uri is the repeated one", `redirect_uri=${encodeURIComponent(redirectUri)}`, {}],
    ["redirect_uri is repeated with another", "redirect_uri=https://evil.example/", {}],
    ["the client is unknown", "scope=openid", { client_id: "nobody" }],
    ["the client is not named", "scope=openid", { client_id: undefined }],
    ["the redirect_uri is not registered", "scope=openid", { redirect_uri: "https://evil.example/" }],
    ["there is no redirect_uri", "scope=openid", { redirect_uri: undefined }],
  ])("%s: a page, without a redirect", async (_, repeat, parameters) => {
    const response = await ask(repeat, parameters);
    expect(response.status).toBe(400);
    expect(response.headers.get("location")).toBeNull();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    if (Object.keys(parameters).length === 0)
      expect(await response.text()).toMatch(/is repeated; it may appear only once/);
  });

  it("in a posted request is reported the same way, and nothing is stored", async () => {
    const counts = { object: 0, kv: 0, d1: 0 };
    const fields = { ...Object.fromEntries(authorizationQuery()), scope: ["openid", "openid email"] };
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await browser.post("/authorize", fields);
    const response = await fixtures.browser(countCalls(authEnv, counts)).post("/authorize", fields);
    expect(sentToClient(response)).toMatchObject({ error: "invalid_request", state: "the-state", iss });
    expect(counts).toEqual({ object: 0, kv: 0, d1: 0 });
  });
});

describe("RFC 9126 §2.3: a repeated parameter at /par", () => {
  it.each(["scope", "state", "client_id", "redirect_uri"])("%s is a 400 of JSON", async (name) => {
    const fields: Record<string, string> = Object.fromEntries(authorizationQuery());
    const repeated = { ...fields, [name]: [fields[name]!, fields[name]!] };
    const response = await postForm(fixtures.app, authEnv, "/par", repeated, fixtures.client);
    expect(response.status).toBe(400);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual({ error: "invalid_request", error_description: description });
  });

  it("next to a pushed request, it leaves the request usable for its owner", async () => {
    const fields = Object.fromEntries(authorizationQuery());
    const response = await postForm(fixtures.app, authEnv, "/par", fields, fixtures.client);
    const { request_uri: reference } = await response.json<{ request_uri: string }>();
    const query = new URLSearchParams({ client_id: "app", request_uri: reference });
    expect((await browser.get(`/authorize?${query}&state=1&state=2`)).status).toBe(400);
    expect(locationOf(await browser.get(`/authorize?${query}`))).toMatch(/sign-in\?f=/);
  });
});
