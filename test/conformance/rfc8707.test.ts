import { beforeAll, describe, expect, test } from "vitest";
import { type Person, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application } from "./fixtures/application.ts";
import { claimsOf } from "./fixtures/provider-fixtures.ts";
import { registerPerson } from "./fixtures/register-person.ts";
import { fixtures } from "./fixtures/shared-provider.ts";

/** Resource indicators and the rules of resources (ADR 45), at the running provider. */
const files = `https://mcp.example.com/${crypto.randomUUID()}/mcp`;
const mail = `https://mcp.example.com/${crypto.randomUUID()}/mail`;
const challenge = {
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
};
const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

let app: Application;
let person: Person;
let location: string;

beforeAll(async () => {
  const created = await fixtures.admin.call("POST", "/resources", {
    identifier: files,
    name: "Family files",
    clients: "registered",
    scopes: [
      { value: "files:read", description: "Read your family's files" },
      { value: "files:write", description: "Change your family's files" },
    ],
  });
  expect(created.status, created.text).toBe(201);
  location = `/resources/${String(created.body["resource_id"])}`;
  await fixtures.admin.call("POST", "/resources", {
    identifier: mail,
    name: "Family mail",
    clients: ["someone-else"],
    scopes: [{ value: "files:read", description: "Read attachments" }],
  });
  app = await Application.register(fixtures, { token_endpoint_auth_method: "client_secret_basic" }, challenge);
  person = (await registerPerson(fixtures)).browser();
});

describe("RFC 8707 §2: a resource with its own description", () => {
  test("§2.1: people see the resource and the scope with its descriptions; aud is the identifier with its path", async () => {
    const first = await person.openPage(app.authorizationUrl({ scope: "files:read", resource: files }));
    const consent = await person.submit(first);
    if (consent.kind !== "page") throw new Error(`sent to the application: ${consent.url}`);
    expect(textOf(consent.html)).toMatch(/Use Family files on your behalf .*Read your family's files/);
    expect(textOf(consent.html)).not.toContain("Change your family's files");
    const arrival = await person.submit(consent);
    if (arrival.kind !== "arrival") throw new Error("a second page");
    const response = await app.redeem({ authorizationResponse: arrival.url.searchParams }, { code_verifier });
    expect(response.status, response.text).toBe(200);
    expect(claimsOf(String(response.body["access_token"]))).toMatchObject({ aud: files, scope: "files:read" });
    const refreshed = await app.refresh(String(response.body["refresh_token"]), { resource: files });
    expect(claimsOf(String(refreshed.body["access_token"]))).toMatchObject({ aud: files, scope: "files:read" });
  });

  test("§2: consent at one resource does not cover another scope of it", async () => {
    const again = await app.authorize(person, { scope: "files:read", resource: files });
    expect(again.pages).toEqual([]);
    const wider = await app.authorize(person, { scope: "files:read files:write", resource: files });
    expect(wider.pages).toEqual(["consent"]);
  });

  test.each([
    ["one that does not admit the client", mail],
    ["another path", `${files}/`],
    ["no absolute URI", "files"],
    ["a fragment", `${files}#x`],
  ])("§2: %s is invalid_target", async (_, resource) => {
    const { authorizationResponse } = await app.authorize(person, { scope: "openid", resource });
    expect(authorizationResponse.get("error")).toBe("invalid_target");
  });

  test("a scope of an unrequested resource is ignored, and invalid_scope if it is the only one", async () => {
    const { authorizationResponse } = await app.authorize(person, { scope: "files:read" });
    expect(authorizationResponse.get("error")).toBe("invalid_scope");
  });

  test("a rule that no longer admits the client is in force when the admin API responds", async () => {
    const signIn = await app.authorize(person, { scope: "files:read", resource: files });
    const changed = await fixtures.admin.call("PATCH", location, { clients: [] });
    expect(changed.status, changed.text).toBe(200);
    const refused = await app.redeem(signIn, { code_verifier });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_target"]);
    await fixtures.admin.call("PATCH", location, { clients: "registered" });
    expect((await app.redeem(signIn, { code_verifier })).status).toBe(200);
  });
});
