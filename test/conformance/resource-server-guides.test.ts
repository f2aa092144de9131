import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demoApplications } from "../../examples/application/src/demo.ts";
import type { Application } from "../../packages/edge-op/src/applications.ts";
import { basicAuthorization, postForm } from "../../packages/edge-op/src/provider-api.ts";
import { readRepositoryFile } from "../../scripts/reference/repository-files.ts";
import { accessTokenHash, DpopKey } from "../fixtures/dpop-key.ts";
import { checkServer } from "../products/apis/check-server.ts";
import { type LocalProvider, startLocalProvider } from "./fixtures/local-provider.ts";
import { EmptyFolder } from "./fixtures/packed-package.ts";
import { accessToken, ProviderFixtures, type TestClient } from "./fixtures/provider-fixtures.ts";

/** The guides for resource servers: each Worker in them runs next to the provider, and each command is executed. */
const apiGuide = readRepositoryFile("docs/operating/protect-an-api.md");
const mcpGuide = readRepositoryFile("docs/operating/protect-an-mcp-server.md");
const scope = "notes:read notes:write";

/** The marked blocks of a guide: `<!-- worker: name -->`, `<!-- shell -->`. */
function blocksOf(guide: string, kind: "worker" | "shell"): [string, string][] {
  const blocks = guide.matchAll(/<!-- (worker|shell)(?:: ([a-z-]+))? -->\n```\w+\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, found, name = "", text = ""]) => (found === kind ? [[name, text]] : []));
}

const vars: Record<string, string> = { NONCE_SECRET: "a secret of at least 32 characters" };
const workers = [...blocksOf(apiGuide, "worker"), ...blocksOf(mcpGuide, "worker")];
const applications = Object.fromEntries(
  workers.map(([name, source]): [string, Application] => {
    const example = name === "mcp" ? demoApplications.mcp : demoApplications.api;
    return [name, { ...example, source, vars }];
  }),
);

let provider: LocalProvider;
let client: TestClient;

beforeAll(async () => {
  provider = await startLocalProvider({ applications });
  const fixtures = new ProviderFixtures(provider);
  const audiences = Object.values(provider.resources);
  client = await fixtures.client({ scope, audiences });
  const introspector = await fixtures.client({ introspection: { audiences } });
  vars["CLIENT_ID"] = introspector.client_id;
  vars["CLIENT_SECRET"] = introspector.client_secret;
  const authorization = basicAuthorization(provider.admin);
  const form = { grant_type: "client_credentials" };
  const token = accessToken(await postForm(`${provider.origin}/token`, form, { authorization }));
  for (const [guide, name] of [
    [apiGuide, "binding"],
    [mcpGuide, "mcp"],
  ] as const) {
    const url = provider.resources[name]!;
    const env = { ...process.env, OP: provider.origin, ADMIN: token, API: url, MCP: url };
    for (const [, script] of blocksOf(guide, "shell")) {
      const { stdout } = await promisify(execFile)("bash", ["-eu", "-c", script], { env });
      expect(JSON.parse(stdout)).toMatchObject({ identifier: url });
    }
  }
  // With the credentials of the introspecting client.
  await provider.restart();
});
afterAll(() => provider.stop());

async function tokenFor(name: string, wanted = scope): Promise<string> {
  const form = { grant_type: "client_credentials", resource: provider.resources[name]!, scope: wanted };
  return accessToken(await postForm(`${provider.origin}/token`, form, { authorization: client.authorization }));
}

function send(name: string, token: string, init: RequestInit = {}): Promise<Response> {
  return fetch(provider.resources[name]!, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
}

test("the guides contain these Workers", () => {
  expect(workers.map(([name]) => name)).toEqual(["binding", "introspection", "jwt", "step-up", "dpop", "mcp"]);
});

describe("docs/operating/protect-an-api.md", () => {
  test.each(["binding", "introspection", "jwt", "step-up"])(
    "%s: serves a token for it and challenges others",
    async (name) => {
      const response = await send(name, await tokenFor(name));
      expect([response.status, await response.json()]).toEqual([
        200,
        { user: client.client_id, scope: ["notes:read", "notes:write"] },
      ]);
      const none = await fetch(provider.resources[name]!);
      expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, expect.stringContaining("notes:read")]);
      expect((await send(name, await tokenFor("mcp"))).status).toBe(401);
      expect((await send(name, await tokenFor(name, "notes:write"))).status).toBe(403);
    },
  );

  test.each([
    ["binding", 401],
    ["introspection", 401],
    ["jwt", 200],
  ])("%s: a revoked token is %i, as stated in the guide", async (name, status) => {
    const token = await tokenFor(name);
    expect((await send(name, token)).status).toBe(200);
    await postForm(`${provider.origin}/revoke`, { token }, { authorization: client.authorization });
    expect((await send(name, token)).status).toBe(status);
  });

  test("step-up: more scopes, and a recent sign-in", async () => {
    const narrow = await tokenFor("step-up", "notes:read");
    expect((await send("step-up", narrow, { method: "POST" })).status).toBe(403);
    expect((await send("step-up", await tokenFor("step-up"), { method: "POST" })).status).toBe(200);
    expect((await send("step-up", narrow, { method: "DELETE" })).status).toBe(401);
  });

  test("dpop: only a bound token with a fresh proof that contains the server's nonce", async () => {
    const key = await DpopKey.generate();
    const url = provider.resources["dpop"]!;
    const form = { grant_type: "client_credentials", resource: url, scope };
    const headers = { authorization: client.authorization, DPoP: await key.proof("POST", `${provider.issuer}/token`) };
    const token = accessToken(await postForm(`${provider.origin}/token`, form, headers));
    const prove = async (claims = {}) => key.proof("GET", url, { ath: await accessTokenHash(token), ...claims });
    const sendProof = (proof: string) => fetch(url, { headers: { authorization: `DPoP ${token}`, DPoP: proof } });
    const first = await sendProof(await prove());
    const nonce = first.headers.get("dpop-nonce");
    expect([first.status, nonce]).toEqual([401, expect.any(String)]);
    const proof = await prove({ nonce });
    expect([(await sendProof(proof)).status, (await sendProof(proof)).status]).toEqual([200, 401]);
    expect((await send("dpop", await tokenFor("dpop"))).status).toBe(401);
  });
});

test("docs/operating/protect-an-mcp-server.md: tools are called, and one of them needs more scopes", async () => {
  const call = (token: string, name: string) =>
    send("mcp", token, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } }),
    });
  const narrow = await tokenFor("mcp", "notes:read");
  expect(await (await call(narrow, "whoami")).text()).toContain(client.client_id);
  const refused = await call(narrow, "delete_notes");
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    403,
    expect.stringContaining('scope="notes:read notes:write"'),
  ]);
  expect(await (await call(await tokenFor("mcp"), "delete_notes")).text()).toContain("deleted");
});

describe("docs/operating/protect-an-api.md, with another library", () => {
  const folder = new EmptyFolder();
  beforeAll(() => {
    folder.link("jose", "6");
    folder.link("express", "5");
  });
  afterAll(() => folder.remove());

  test.each(["jose", "express"])("%s alone accepts access tokens for it, and no other token", async (name) => {
    const refused = { idToken: 401, ofOtherResource: 401, bound: 401, none: 401 };
    const results = await checkServer(name, new ProviderFixtures(provider), folder.path);
    expect(results).toEqual({ accessToken: 200, ...refused });
  });
});
