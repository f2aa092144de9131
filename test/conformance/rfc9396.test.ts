import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { postForm, readResponse } from "../../packages/edge-op/src/provider-api.ts";
import { type Page, textOf } from "../../packages/edge-op/testing/person.ts";
import { Application, readAuthorizationResponse } from "./fixtures/application.ts";
import { accessToken, claimsOf, type TestClient } from "./fixtures/provider-fixtures.ts";
import { type RegisteredPerson, registerPerson } from "./fixtures/register-person.ts";
import { fixtures, provider } from "./fixtures/shared-provider.ts";

/** Rich authorization requests over HTTP, on the types of fixtures/authorization-types.ts. */
const payment = {
  type: "payment_initiation",
  actions: ["initiate", "status"],
  creditorName: "Merchant A",
  instructedAmount: { currency: "EUR", amount: "123.50" },
} as const;
const account = { type: "account_information", actions: ["list_accounts", "read_balances"] } as const;
const types = ["payment_initiation", "account_information"];
const text = (...details: readonly unknown[]) => JSON.stringify(details);

let application: Application;
let person: RegisteredPerson;
let service: TestClient;

beforeAll(async () => {
  application = await Application.register(fixtures, { authorization_details_types: types });
  person = await registerPerson(fixtures, { name: "Pat Person" });
  service = await fixtures.client({ authorization_details_types: ["account_information"] });
});

/** The error of an authorization request, as received by the client. */
async function refusal(authorizationDetails: string, by = application): Promise<[string | null, string | null]> {
  const url = by.authorizationUrl({ authorization_details: authorizationDetails });
  const { searchParams } = (await person.browser().visit(url)).url;
  return [searchParams.get("error"), searchParams.get("error_description")];
}

describe("RFC 9396 §2, §3, §5: the request", () => {
  test("§10: metadata lists the types", async () => {
    const { body } = await readResponse(await fetch(`${provider.origin}/.well-known/oauth-authorization-server`));
    expect(body["authorization_details_types_supported"]).toEqual(types);
  });

  const malformed: readonly (readonly [string, string])[] = [
    ["no JSON", "{"],
    ["no array", JSON.stringify(payment)],
    ["an empty array", "[]"],
    ["an object without a type", text({ actions: ["read"] })],
    ["a type that is no text", text({ type: 1 })],
    ["actions that are no list", text({ ...account, actions: "read" })],
    ["an unknown type", text({ type: "root_access" })],
    ["the name of a member of every object as a type", text({ type: "constructor" })],
    ["a member that the schema requires is missing", text({ ...payment, creditorName: undefined })],
    ["a member that the schema does not know", text({ ...payment, tip: "1.00" })],
    ["a value of another form", text({ ...payment, instructedAmount: { currency: "eur", amount: "1.00" } })],
    ["one bad object among good ones", text(account, { ...payment, actions: ["refund"] })],
    ["more than 4,096 characters", text({ ...account, note: "x".repeat(4_096) })],
    ["seventeen objects", text(...Array<unknown>(17).fill(account))],
  ];
  test.each(malformed)("§5: %s is invalid_authorization_details, and nobody is asked", async (_, details) => {
    expect((await refusal(details))[0]).toBe("invalid_authorization_details");
  });

  test("§5: the description names the object and the fault", async () => {
    const [error, description] = await refusal(text(account, { ...payment, instructedAmount: { currency: "EUR" } }));
    expect(error).toBe("invalid_authorization_details");
    expect(description).toMatch(/^authorization_details\[1\] does not match the schema of its type at #/);
  });

  test("§10: a client is refused an unregistered type", async () => {
    const other = await Application.register(fixtures, { authorization_details_types: ["account_information"] });
    const [error, description] = await refusal(text(payment), other);
    expect([error, description]).toEqual([
      "invalid_authorization_details",
      "authorization_details[0] is of a type that the client is not registered for.",
    ]);
    expect((await refusal(text(account), await Application.register(fixtures)))[0]).toBe(
      "invalid_authorization_details",
    );
  });

  test("§3, §5: at /par the same refusal, and a pushed request keeps its details", async () => {
    const { client } = application;
    const push = (details: string) => {
      const form = application.authorizationParameters({ authorization_details: details });
      return postForm(`${provider.origin}/par`, form, { authorization: client.authorization });
    };
    expect((await push(text({ type: "root_access" }))).body["error"]).toBe("invalid_authorization_details");
    const requestUri = String((await push(text(payment))).body["request_uri"]);
    const url = new URL(`${provider.issuer}/authorize`);
    url.search = new URLSearchParams({ client_id: client.client_id, request_uri: requestUri }).toString();
    const arrival = await person.browser().visit(url);
    const signIn = { authorizationResponse: readAuthorizationResponse(arrival, undefined) };
    expect((await application.redeem(signIn)).body["authorization_details"]).toEqual([payment]);
  });

  test("§3: in a request object, as JSON", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" }] };
    const signing = await Application.register(fixtures, { authorization_details_types: types, jwks });
    const now = Math.floor(Date.now() / 1000);
    const parameters = Object.fromEntries(signing.authorizationParameters());
    const claims = { iss: signing.client.client_id, aud: provider.issuer, iat: now, exp: now + 60 };
    const request = await new SignJWT({ ...parameters, ...claims, authorization_details: [payment] })
      .setProtectedHeader({ alg: "ES256", kid: "k1", typ: "oauth-authz-req+jwt" })
      .sign(privateKey);
    const arrival = await person.browser().visit(signing.authorizationUrl({ request }));
    const signIn = { authorizationResponse: readAuthorizationResponse(arrival, undefined) };
    expect((await signing.redeem(signIn)).body["authorization_details"]).toEqual([payment]);
  });

  test("§3: details need no scope", async () => {
    const signIn = await application.authorize(person.browser(), {
      scope: undefined,
      authorization_details: text(account),
    });
    const { status, body } = await application.redeem(signIn);
    expect([status, body["scope"], body["authorization_details"]]).toEqual([200, undefined, [account]]);
  });
});

describe("RFC 9396 §6, §12: consent", () => {
  test("§12: the page shows every member, readably and in the person's language", async () => {
    const { browser } = await registerPerson(fixtures);
    const someone = browser();
    const url = application.authorizationUrl({ authorization_details: text(payment), ui_locales: "de" });
    const signIn = await someone.openPage(url);
    const { html } = (await someone.submit(signIn)) as Page;
    expect(textOf(html).replaceAll(" :", ":")).toContain(
      "Bezahlen Aktionen: initiate, status Payee: Merchant A Amount: 123,50 EUR",
    );
  });

  test("§12: markup in a member stays text", async () => {
    const someone = (await registerPerson(fixtures)).browser();
    const hostile = { ...payment, creditorName: "<script>alert(1)</script>" };
    const signIn = await someone.openPage(application.authorizationUrl({ authorization_details: text(hostile) }));
    const { html } = (await someone.submit(signIn)) as Page;
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(html).not.toContain("<script>alert");
  });

  test("§12: characters that would reorder or hide a part of a member are shown as their code points", async () => {
    const someone = (await registerPerson(fixtures)).browser();
    const hostile = { ...payment, creditorName: "\u202e001 rof\u0000 me" };
    const signIn = await someone.openPage(application.authorizationUrl({ authorization_details: text(hostile) }));
    const { html } = (await someone.submit(signIn)) as Page;
    expect(html).toContain("\\u202e001 rof\\u0000 me");
    expect(html).not.toMatch(/[\0\u202e]/);
  });

  test("§6: a remembered consent covers the same object and no other", async () => {
    const someone = (await registerPerson(fixtures)).browser();
    const pages = async (details: string) =>
      (await application.authorize(someone, { authorization_details: details })).pages;
    expect(await pages(text(account))).toEqual(["sign-in", "consent"]);
    const reordered = Object.fromEntries(Object.entries(account).toReversed());
    expect(await pages(text(reordered))).toEqual([]);
    expect(await pages(text({ ...account, actions: ["list_accounts"] }))).toEqual(["consent"]);
    const silent = await someone.open(
      application.authorizationUrl({ prompt: "none", authorization_details: text(payment, account) }),
    );
    expect((silent as { url: URL }).url.searchParams.get("error")).toBe("consent_required");
  });

  const push = async (parameters: Record<string, string>) => {
    const form = application.authorizationParameters(parameters);
    const headers = { authorization: application.client.authorization };
    const { body } = await postForm(`${provider.origin}/par`, form, headers);
    const url = new URL(`${provider.issuer}/authorize`);
    const { client_id } = application.client;
    url.search = new URLSearchParams({ client_id, request_uri: String(body["request_uri"]) }).toString();
    return url;
  };
  test.each<[string, (parameters: Record<string, string>) => Promise<URL>]>([
    ["/authorize", async (parameters) => application.authorizationUrl(parameters)],
    ["/par", push],
  ])(
    "§12: by %s, a type without remembered consent is requested each time, and never allowed silently",
    async (_, urlOf) => {
      const someone = (await registerPerson(fixtures)).browser();
      const visit = async (details: readonly unknown[], more = {}) =>
        someone.visit(await urlOf({ authorization_details: text(...details), ...more }));
      expect((await visit([payment, account])).pages).toEqual(["sign-in", "consent"]);
      for (const details of [[payment], [payment, account]]) {
        expect((await visit(details)).pages).toEqual(["consent"]);
        const silent = await visit(details, { prompt: "none" });
        expect([silent.pages, silent.url.searchParams.get("error")]).toEqual([[], "consent_required"]);
      }
      const remembered = await visit([account], { prompt: "none" });
      expect(remembered.url.searchParams.has("code")).toBe(true);
    },
  );
});

describe("RFC 9396 §6, §7, §9: tokens", () => {
  test("§7, §9.1, §9.2: the token response, the access token and introspection contain the granted details", async () => {
    const signIn = await application.authorize(person.browser(), { authorization_details: text(payment, account) });
    const { body } = await application.redeem(signIn);
    const token = String(body["access_token"]);
    expect(body["authorization_details"]).toEqual([payment, account]);
    expect(claimsOf(token)["authorization_details"]).toEqual([payment, account]);
    const introspected = await fixtures.introspect(application.client, token);
    expect(introspected.body["authorization_details"]).toEqual([payment, account]);
  });

  test("§6.1: a redemption may request fewer details than granted, never more; a refusal does not spend the code", async () => {
    const signIn = await application.authorize(person.browser(), { authorization_details: text(payment, account) });
    const redeem = (...details: readonly unknown[]) =>
      application.redeem(signIn, { authorization_details: text(...details) });
    const wider = [
      { ...payment, instructedAmount: { currency: "EUR", amount: "999.00" } },
      { ...payment, actions: ["initiate", "cancel"] },
      { type: "account_information" },
      { ...account, identifier: "another" },
    ];
    for (const each of wider) {
      const { status, body } = await redeem(each);
      expect([status, body["error"]], JSON.stringify(each)).toEqual([400, "invalid_authorization_details"]);
    }
    const narrowed = { ...account, actions: ["read_balances"] };
    expect((await redeem(narrowed)).body["authorization_details"]).toEqual([narrowed]);
  });

  test("§6.1: a refresh narrows only its access token, and never widens", async () => {
    const someone = person.browser();
    const signIn = await application.authorize(someone, {
      scope: "openid offline_access",
      authorization_details: text(payment, account),
    });
    const first = await application.readTokens(await application.redeem(signIn));
    const wider = await application.refresh(first.refreshToken, {
      authorization_details: text({ ...payment, creditorName: "Mallory" }),
    });
    expect(wider.body["error"]).toBe("invalid_authorization_details");
    const narrowed = await application.refresh(first.refreshToken, { authorization_details: text(account) });
    expect(narrowed.body["authorization_details"]).toEqual([account]);
    const whole = await application.refresh(String(narrowed.body["refresh_token"]));
    expect(whole.body["authorization_details"]).toEqual([payment, account]);
    expect(claimsOf(String(whole.body["access_token"]))["authorization_details"]).toEqual([payment, account]);
  });

  test("a lost refresh response that is repeated with other details is refused", async () => {
    const signIn = await application.authorize(person.browser(), {
      scope: "openid offline_access",
      authorization_details: text(payment, account),
    });
    const { refreshToken } = await application.readTokens(await application.redeem(signIn));
    const first = await application.refresh(refreshToken, { authorization_details: text(account) });
    const again = await application.refresh(refreshToken, { authorization_details: text(account) });
    expect(claimsOf(String(again.body["access_token"]))["jti"]).toBe(
      claimsOf(String(first.body["access_token"]))["jti"],
    );
    const other = await application.refresh(refreshToken, { authorization_details: text(payment) });
    expect(other.body["error"]).toBe("invalid_grant");
  });

  test("§4: client credentials: the client's own types, checked by their schemas", async () => {
    const grant = { grant_type: "client_credentials" };
    const { body } = await fixtures.token(service, { ...grant, authorization_details: text(account) });
    expect(body["authorization_details"]).toEqual([account]);
    const refused = await fixtures.token(service, { ...grant, authorization_details: text(payment) });
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_authorization_details"]);
  });

  test("§7: an exchanged token has only the subject's details of types that the exchanging client registered", async () => {
    const token = accessToken(
      await application.redeem(
        await application.authorize(person.browser(), { authorization_details: text(payment, account) }),
      ),
    );
    const exchanger = await fixtures.exchanger({}, { authorization_details_types: ["account_information"] });
    const exchanged = await fixtures.exchange(exchanger, token);
    expect(exchanged.body["authorization_details"]).toEqual([account]);
    const narrowed = { ...account, actions: ["read_balances"] };
    const less = await fixtures.exchange(exchanger, token, { authorization_details: text(narrowed) });
    expect(claimsOf(accessToken(less))["authorization_details"]).toEqual([narrowed]);
    const more = { ...account, actions: ["list_accounts", "delete"] };
    const wider = await fixtures.exchange(exchanger, token, { authorization_details: text(more) });
    expect([wider.status, wider.body["error"]]).toEqual([400, "invalid_authorization_details"]);
    const none = await fixtures.exchange(await fixtures.exchanger(), token);
    expect([none.status, none.body["authorization_details"]]).toEqual([200, undefined]);
  });

  test("a type that the client no longer registers is omitted from its next token", async () => {
    const changing = await Application.register(fixtures, { authorization_details_types: types });
    const signIn = await changing.authorize(person.browser(), {
      scope: "openid offline_access",
      authorization_details: text(payment, account),
    });
    const { refreshToken } = await changing.readTokens(await changing.redeem(signIn));
    await fixtures.admin.require("PATCH", `/clients/${changing.client.client_id}`, {
      authorization_details_types: ["account_information"],
    });
    expect((await changing.refresh(refreshToken)).body["authorization_details"]).toEqual([account]);
  });

  test("RFC 8628 with RFC 9396: a device's details are shown with its code and granted", async () => {
    const grantType = "urn:ietf:params:oauth:grant-type:device_code";
    const device = await fixtures.client({
      token_endpoint_auth_method: "none",
      grant_types: [grantType],
      scope: "openid",
      authorization_details_types: types,
    });
    const form = { client_id: device.client_id, scope: "openid", authorization_details: text(payment) };
    const { body: codes } = await postForm(`${provider.origin}/device_authorization`, form);
    const someone = person.browser();
    const signIn = await someone.openPage(`${provider.origin}/device?user_code=${codes["user_code"]}`);
    const page = (await someone.submit(signIn)) as Page;
    expect(textOf(page.html)).toContain("Merchant A");
    await someone.submit(page, { device: { decision: "allow" } });
    const redemption = {
      grant_type: grantType,
      device_code: String(codes["device_code"]),
      client_id: device.client_id,
    };
    const { body } = await postForm(`${provider.origin}/token`, redemption);
    expect(body["authorization_details"]).toEqual([payment]);
  });
});
