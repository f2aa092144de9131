import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../packages/edge-op/src/console/findings.ts";
import { checkProvider } from "../../packages/edge-op/src/doctor/check-provider.ts";
import { CommandLine } from "./fixtures/command-line.ts";
import { startDocumentServer } from "./fixtures/document-server.ts";
import type { TestClient } from "./fixtures/provider-fixtures.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/** `edge-op doctor` finds each planted mistake, names the check, and finds nothing in a configuration without mistakes. */
const { issuer } = fixtures;
const redirectUri = "https://notes.example.com/callback";
const audience = "https://notes-api.example.com/";
const stranger = new CommandLine();
const operator = new CommandLine();
let client: TestClient;
let correct: Readonly<Record<string, unknown>>;

beforeAll(async () => {
  client = await fixtures.client({
    ...{
      client_name: "Notes",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "client_credentials"],
    },
    ...{ post_logout_redirect_uris: ["https://notes.example.com/"], scope: "openid email read", audiences: [audience] },
    ...{ id_token_signed_response_alg: "ES256", require_pkce: true },
  });
  const jwks = (await (await fetch(`${issuer}/jwks`)).json()) as object;
  correct = {
    ...{
      client_id: client.client_id,
      client_secret: client.client_secret,
      redirect_uri: redirectUri,
      scope: "openid email",
    },
    ...{ token_endpoint_auth_method: "client_secret_basic", post_logout_redirect_uri: "https://notes.example.com/" },
    ...{ id_token_signed_response_alg: "ES256", audience, access_token: await fixtures.clientToken(client), jwks },
    ...{ code_challenge: "a".repeat(43), code_challenge_method: "S256" },
  };
  const { admin } = (await import("./fixtures/shared-provider.ts")).provider.dev;
  await operator.login(issuer, admin);
});
afterAll(() => {
  stranger.remove();
  operator.remove();
});

async function examine(user: CommandLine, party: Readonly<Record<string, unknown>>, url = issuer) {
  const { code, json } = await user.run(["doctor", url, "--config", user.file("party.json", party), "--json"]);
  const wrong = (json["findings"] as Finding[]).filter(({ result }) => result === "wrong");
  return { code, wrong };
}

test("a configuration without mistakes: nothing is wrong, for a stranger and for an operator", async () => {
  expect(await examine(stranger, correct)).toEqual({ code: 0, wrong: [] });
  expect(await examine(operator, correct)).toEqual({ code: 0, wrong: [] });
});

describe("planted mistakes, which a stranger finds too", () => {
  test.each<[string, string, Readonly<Record<string, unknown>>]>([
    ["a redirect URI with another slash", "redirect URI", { redirect_uri: `${redirectUri}/` }],
    ["a client that does not exist", "client", { client_id: "no-such-client" }],
    ["no PKCE", "PKCE", { code_challenge: undefined, code_challenge_method: undefined }],
    ["the implicit flow", "response type", { response_type: "id_token token" }],
    ["no openid", "openid", { scope: "email" }],
    ["an API that the client may not use", "audience", { resource: "https://other.example.com/" }],
    ["a token for another API", "audience", { audience: "https://other.example.com/" }],
    ["another signature than any that the provider has", "algorithm", { id_token_signed_response_alg: "HS256" }],
    ["a wrong secret", "client authentication", { client_secret: "wrong" }],
    ["no authentication", "client authentication", { token_endpoint_auth_method: "none" }],
    ["stored keys of last year", "keys", { jwks: { keys: [{ kid: "old" }] } }],
    [
      "a post-logout URI that is not registered",
      "post-logout URI",
      { post_logout_redirect_uri: "https://notes.example.com/bye" },
    ],
  ])("%s", async (_, check, mistake) => {
    const { code, wrong } = await examine(stranger, { ...correct, ...mistake });
    expect(wrong.map((finding) => finding.check)).toContain(check);
    expect(code).toBe(1);
    expect(wrong.every(({ mend = "" }) => mend.length > 0)).toBe(true);
  });

  test.each([
    ["an issuer with a slash at the end", `${issuer}/`, "issuer"],
    ["an issuer with a path", `${issuer}/realms/main`, "discovery"],
    ["http to another machine", "http://op.example.com", "https"],
    ["a host that does not respond", "http://127.0.0.1:9", "discovery"],
  ])("%s", async (_, url, check) => {
    const { code, wrong } = await examine(stranger, {}, url);
    expect([code, wrong.map((finding) => finding.check)]).toEqual([1, [check]]);
  });

  test("a clock that differs by a minute", async () => {
    for (const [nowMs, text] of [
      [Date.now() + 61_000, "ahead"],
      [Date.now() - 61_000, "behind"],
    ] as const) {
      const { findings } = await checkProvider({ issuer }, nowMs);
      expect(findings.find(({ check }) => check === "clock")).toMatchObject({
        result: "wrong",
        text: expect.stringContaining(text) as string,
      });
    }
  });
});

describe("mistakes that show in the registration alone", () => {
  test.each<[string, string, Readonly<Record<string, unknown>>]>([
    ["another signature of ID tokens than the registered one", "algorithm", { id_token_signed_response_alg: "RS256" }],
    ["a scope that is not registered, and left out of tokens", "scope", { scope: "openid phone" }],
    ["another authentication method", "client authentication", { token_endpoint_auth_method: "private_key_jwt" }],
    [
      "an audience that is not registered",
      "audience",
      { access_token: undefined, audience: "https://other.example.com/" },
    ],
  ])("%s", async (_, check, mistake) => {
    const { code, wrong } = await examine(operator, { ...correct, ...mistake });
    expect([code, wrong.map((finding) => finding.check)]).toEqual([1, [check]]);
  });

  test("the registered URIs are named", async () => {
    const { wrong } = await examine(operator, { ...correct, redirect_uri: `${redirectUri}/` });
    expect(wrong[0]!.mend).toContain(redirectUri);
  });
});

describe("documents of another form than a provider has", () => {
  test.each([
    ["metadata without a token endpoint", "discovery", "token_endpoint", {}, { keys: [] }],
    ["a key set without keys", "keys", "keys", { token_endpoint: "https://op.example.com/token" }, {}],
  ])("%s", async (_, check, member, metadata, keys) => {
    const server = await startDocumentServer();
    const jwks_uri = server.serve("/jwks", keys);
    const authorization_endpoint = `${server.origin}/authorize`;
    const document = { issuer: server.origin, authorization_endpoint, jwks_uri, ...metadata };
    server.serve("/.well-known/openid-configuration", document);
    const { findings } = await checkProvider({ issuer: server.origin }, Date.now());
    await server.stop();
    const wrong = findings.filter(({ result }) => result === "wrong");
    expect(wrong).toEqual([expect.objectContaining({ check, text: expect.stringContaining(member) as string })]);
  });
});

test("the URL of an authorization request, from the address bar", async () => {
  const url = `${issuer}/authorize?${new URLSearchParams({ client_id: client.client_id, redirect_uri: redirectUri, response_type: "code", scope: "openid" })}`;
  const { code, output } = await stranger.run(["doctor", issuer, "--request", url]);
  expect(code).toBe(1);
  expect(output).toMatch(/WRONG {2}PKCE/);
});

test.each([
  [["--config", "none.json"], "cannot be read"],
  [["--request", "not a URL"], "must be the URL"],
  [["--jwks", "{"], "must be JSON"],
])("%j is 2", async (words, message) => {
  const { code, errors } = await stranger.run(["doctor", issuer, ...words]);
  expect([code, errors.includes(message)]).toEqual([2, true]);
});
