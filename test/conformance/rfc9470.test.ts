import { beforeAll, describe, expect, test } from "vitest";
import { readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { Application } from "./fixtures/application.ts";
import { claimsOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/**
 * Step-up authentication: what a resource server needs for a challenge, and how a client reacts to it. The challenge itself is the resource server's
 * (packages/resource-server, resource-servers.test.ts); the endpoints of this provider require no specific level.
 */
const password = "urn:edge-op:acr:password";
const passkey = "phr";

let application: Application;
let person: RegisteredPerson;
let resourceServer: TestClient;

beforeAll(async () => {
  application = await Application.register(fixtures);
  person = await registerPerson(fixtures, { name: "Pat Person" });
  resourceServer = await fixtures.resourceServer();
});

describe("RFC 9470 §4: the authorization request after a challenge", () => {
  test("§7: metadata lists the reachable acr values", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    expect(body["acr_values_supported"]).toEqual([password, passkey, "mfa", "urn:edge-op:acr:upstream"]);
  });

  test("§4: max_age of the challenge: the person signs in again, and the new token is as fresh as required", async () => {
    const browser = person.browser();
    const first = await application.signIn(browser);
    expect((await application.authorize(browser, { max_age: "3600" })).pages).toEqual([]);
    const again = await application.signIn(browser, { max_age: "0" });
    expect(again.pages).toEqual(["sign-in"]);
    expect(claimsOf(again.accessToken)["auth_time"]).toBeGreaterThanOrEqual(
      Number(claimsOf(first.accessToken)["auth_time"]),
    );
  });

  test("§4: acr_values that the session has, or that the person cannot reach, need no page", async () => {
    const browser = person.browser();
    await application.signIn(browser);
    expect((await application.authorize(browser, { acr_values: password })).pages).toEqual([]);
    const preferred = await application.signIn(browser, { acr_values: `${passkey} ${password}` });
    expect([preferred.pages, preferred.claims["acr"]]).toEqual([[], password]);
    const better = await application.signIn(browser, { acr_values: passkey });
    expect([better.pages, better.claims["acr"]]).toEqual([[], password]);
  });

  test("§4: an unreachable essential acr is refused with the error that the client can act on", async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ["urn:example:unknown"] } } });
    const { authorizationResponse } = await application.authorize(person.browser(), { claims });
    expect(authorizationResponse.get("error")).toBe("unmet_authentication_requirements");
  });

  test("§4: an essential acr is never replaced by a weaker sign-in: a password is not accepted for it", async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: [passkey] } } });
    const browser = person.browser();
    await application.signIn(browser);
    const page = await browser.openPage(application.authorizationUrl({ claims, ui_locales: "en" }));
    expect([page.name, page.html.includes('name="password"')]).toEqual(["sign-in", false]);
    const forced = await browser.submit(page);
    expect(forced.kind === "page" && forced.status).toBe(400);
  });

  test("§4: a silent request that would need interaction is login_required", async () => {
    const browser = person.browser();
    await application.signIn(browser);
    const { authorizationResponse } = await application.authorize(browser, { prompt: "none", max_age: "0" });
    expect(authorizationResponse.get("error")).toBe("login_required");
  });
});

describe("RFC 9470 §6: how a resource server learns about the authentication", () => {
  test("§6.1, §6.2: acr and auth_time are in the access token and in introspection", async () => {
    const { accessToken, claims } = await application.signIn(person.browser());
    const event = { acr: password, auth_time: claims.auth_time };
    expect(claimsOf(accessToken)).toMatchObject(event);
    expect((await fixtures.introspect(resourceServer, accessToken)).body).toMatchObject(event);
  });

  test("§6.1: a refresh and an exchange are not an authentication: both keep auth_time and acr", async () => {
    const tokens = await application.signIn(person.browser(), { scope: "openid offline_access" });
    const event = { acr: password, auth_time: tokens.claims.auth_time };
    const refreshed = await application.refresh(tokens.refreshToken);
    expect(claimsOf(String(refreshed.body["access_token"]))).toMatchObject(event);
    const exchanged = await fixtures.exchange(await fixtures.exchanger(), tokens.accessToken);
    expect(claimsOf(String(exchanged.body["access_token"]))).toMatchObject(event);
  });

  test("§6.1: a client's own token contains no authentication", async () => {
    const token = await fixtures.clientToken(await fixtures.client());
    expect(Object.keys(claimsOf(token)).filter((name) => name === "acr" || name === "auth_time")).toEqual([]);
  });
});
