import { createExecutionContext } from "cloudflare:test";
import type { IssuerRule } from "@edge-op/shared/issuers/trusted-issuer";
import type { ManagementEnv } from "@edge-op/workers/env";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { generateClientKey, signAssertion } from "../../../test/fixtures/assertions.ts";
import { waitBriefly } from "../../../test/fixtures/call.ts";
import { seedClient, seedIssuer } from "../../../test/fixtures/seed.ts";
import { createApp } from "../src/app.ts";
import { createIsolate } from "../src/isolate.ts";
import { AdminCaller, bindings, issuer } from "./fixtures/admin-fixtures.ts";

/** Each reader of another server's document says that it could not be fetched, and does not judge a content that it has not seen. */
const publisher = "https://publisher.example.com";
const key = await generateClientKey();
const callback = "https://agent.example.com/callback";
const agent = { client_name: "Agent", redirect_uris: [callback], token_endpoint_auth_method: "none" };
const claims = { software_id: "agent", aud: issuer };
const rule: IssuerRule = {
  ...{ rule_id: "apps", status: "active", uses: ["software_statement"], subject: { type: "client" } },
  ...{ claims: { software_id: { exact: "agent" } }, audiences: [], resources: [], scopes: [] },
};
/** JSON omits `jwks`. */
const fetchedKeys: object = { rules: [rule], jwks: undefined, jwks_uri: `${publisher}/keys` };
const keysNotFetched = "The keys for the signature, the encryption or the certificate could not be fetched.";

let app: ReturnType<typeof createApp>;
let lines: string[];
beforeEach(() => {
  app = createApp(createIsolate());
  lines = [];
  for (const level of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(line));
  }
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function send(path: string, init: RequestInit, overrides: Partial<ManagementEnv> = {}) {
  const execution = createExecutionContext();
  const env = { ...bindings, REVOCATION_MODE: "direct", CLIENT_REGISTRATION: "open", ...overrides } as ManagementEnv;
  const response = await app.fetch(new Request(`${issuer}${path}`, { method: "POST", ...init }), env, execution);
  await waitBriefly(execution);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const register = (members: object, overrides = {}) => {
  const headers = { "content-type": "application/json", "cf-connecting-ip": "192.0.2.7" };
  return send("/register", { headers, body: JSON.stringify({ ...agent, ...members }) }, overrides);
};

/** What the other server does, and what is said of it. */
const failures: [string, () => Response, inResponse: string, inLog: string][] = [
  ["gives no response", () => fail("internal error; reference = x"), "no complete response", "reference = x"],
  ["responds with 404", () => new Response("", { status: 404 }), "status 404", "status 404"],
  ["responds with 503", () => new Response("", { status: 503 }), "status 503", "status 503"],
  ["redirects", () => Response.redirect("https://other.example.com/"), "redirects with 302", "redirects with 302"],
  ["sends too much", () => new Response("x".repeat(70_000)), "more than 65536 bytes", "more than 65536 bytes"],
];

function fail(message: string): never {
  throw new Error(message);
}

describe.each(failures)("the other server %s", (_, respond, inResponse, inLog) => {
  beforeEach(() => {
    vi.stubGlobal("fetch", async () => respond());
  });
  const notFetched = () => lines.filter((line) => line.includes('"document-not-fetched"'));

  it("OIDC Registration §5: sector_identifier_uri, at /register and the admin API", async () => {
    const sector = { sector_identifier_uri: `${publisher}/sector`, subject_type: "pairwise" };
    const description = `sector_identifier_uri: could not be fetched: ${inResponse}`;
    const refused = await register(sector);
    expect([refused.status, refused.body["error_description"]]).toEqual([400, description]);
    const created = await new AdminCaller().call("POST", "/clients", { body: { ...agent, ...sector } });
    expect([created.status, created.body.error_description]).toEqual([400, description]);
    expect(notFetched()[0]).toContain(inLog);
  });

  it("RFC 7591 §2.3: the keys of a software statement's issuer, by a record and by the setting", async () => {
    const statement = await signAssertion(key, publisher, claims);
    const refusal = [400, "invalid_software_statement", keysNotFetched];
    const set = { SOFTWARE_STATEMENT_ISSUERS: `${publisher}=${publisher}/jwks` };
    const bySetting = await register({ software_statement: statement }, set);
    expect([bySetting.status, bySetting.body["error"], bySetting.body["error_description"]]).toEqual(refusal);
    await seedIssuer(bindings, publisher, key, fetchedKeys);
    app = createApp(createIsolate());
    const byRecord = await register({ software_statement: statement });
    expect([byRecord.status, byRecord.body["error"], byRecord.body["error_description"]]).toEqual(refusal);
    expect(lines.filter((line) => line.includes('"keys-not-fetched"') && line.includes(inLog))).toHaveLength(2);
  });

  it.each([
    ["jwks_uri", `${publisher}/keys`],
    ["discovery_uri", `${publisher}/.well-known/openid-configuration`],
  ])("the test of a trusted issuer with %s names the fetch, and judges no signature", async (member, uri) => {
    const admin = new AdminCaller();
    const record = { issuer_id: "publisher", issuer: publisher, algorithms: ["ES256"], [member]: uri };
    const tested = { rule_id: "a", uses: ["assertion"], claims: { sub: { exact: "job" } }, client_id: "deploy" };
    const body = {
      ...record,
      rules: [{ ...tested, subject: { type: "client" }, resources: [callback], scopes: ["read"] }],
    };
    expect((await admin.call("POST", "/issuers", { body })).status).toBe(201);
    const token = await signAssertion(key, publisher, { sub: "job" });
    const result = await admin.call("POST", "/issuers/publisher/test", { body: { token } });
    expect(result.body).toMatchObject({ accepted: false, signature: "not checked" });
    expect(result.body.faults).toEqual([expect.stringMatching(`^the keys could not be fetched: ${uri}: .*${inLog}`)]);
  });

  it("RFC 7523 §3: the keys of a client that authenticates by an assertion", async () => {
    const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: `${publisher}/keys` } as const;
    await seedClient(bindings, "signing", metadata);
    const form = {
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: await signAssertion(key, "signing", { sub: "signing", aud: issuer }),
      token: "none",
    };
    const { status, body } = await send("/revoke", { body: new URLSearchParams(form) });
    expect([status, body["error"], body["error_description"]]).toEqual([401, "invalid_client", keysNotFetched]);
  });
});

it("a key set that was fetched and has another key is a bad signature, as before", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ keys: [] }));
  await seedIssuer(bindings, publisher, key, fetchedKeys);
  const { body } = await register({ software_statement: await signAssertion(key, publisher, claims) });
  expect(body["error_description"]).toBe("The software statement is invalid.");
});
