import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSigned } from "../fixtures/client-certificates.ts";
import {
  type BrowserFixtures,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  person,
  see,
} from "./browser-fixtures.ts";

/** The consent page with resources (RFC 8707) and authorization details (RFC 9396), and the pages of front-channel logout. */
let fixtures: BrowserFixtures;
const application = "https://planner.example.com";

const types = {
  payment_initiation: {
    description: { en: "Pay from your account", de: "Von Ihrem Konto bezahlen" },
    schema: {
      properties: {
        creditorName: { type: "string", title: "To" },
        instructedAmount: { type: "object", title: "Amount" },
      },
    },
  },
  account_information: { description: { en: "See your accounts" }, schema: {} },
};

const resources = [
  {
    identifier: "https://calendar.example.com/",
    name: "Calendar",
    scopes: [
      { value: "calendar:read", description: "See your appointments and the people who take part in them" },
      { value: "calendar:write", description: "Make, move and cancel appointments" },
    ],
  },
  {
    // A single word that is wider than a phone.
    identifier: `https://files.example.com/${"a-path-without-any-space/".repeat(4)}`,
    name: "Files",
    scopes: [{ value: "files:read", description: "Read your files" }],
  },
];

const details = [
  {
    type: "payment_initiation",
    creditorName: "Merchant A",
    instructedAmount: { currency: "EUR", amount: "123.50" },
    remittanceInformation: "Z".repeat(90),
  },
  {
    type: "account_information",
    actions: ["list_accounts", "read_balances"],
    locations: ["https://bank.example.com/"],
  },
];

beforeAll(async () => {
  fixtures = await openBrowserFixtures({
    vars: { AUTHORIZATION_DETAILS_TYPES: JSON.stringify(types), CLIENT_REGISTRATION: "open" },
  });
  for (const resource of resources) {
    await fixtures.admin.require("POST", "/resources", { ...resource, clients: "registered" });
  }
  const client = {
    client_id: "planner",
    client_name: "Planner",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [`${application}/callback`],
    post_logout_redirect_uris: [`${application}/`],
    frontchannel_logout_uri: `${application}/front-channel`,
    scope: "openid profile offline_access calendar:read calendar:write files:read",
    authorization_details_types: Object.keys(types),
    policy_uri: `${application}/privacy`,
    tos_uri: `${application}/terms`,
    initiate_login_uri: `${application}/start`,
  };
  await fixtures.admin.require("POST", "/clients", client);
  const ofCompany = { client_id: "company-planner", organization: "required", scope: "openid profile" };
  await fixtures.admin.require("POST", "/clients", { ...client, ...ofCompany });
  const { users } = await fixtures.admin.require("GET", `/users?username=${person.username}`);
  const [{ sub } = { sub: "" }] = users as readonly { readonly sub: string }[];
  for (const name of ["Acme GmbH", "شركة المثال"]) {
    const { org_id } = await fixtures.admin.require("POST", "/organizations", { org_id: `o${name.length}`, name });
    await fixtures.admin.require("PUT", `/organizations/${org_id}/members/${sub}`, {});
  }
});
afterAll(() => fixtures?.close());

function authorizationUrl(more: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams({
    client_id: "planner",
    redirect_uri: `${application}/callback`,
    response_type: "code",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    ...more,
  });
  if (parameters.get("client_id") === "planner") {
    for (const { identifier } of resources) parameters.append("resource", identifier);
  }
  return `${fixtures.provider.origin}/authorize?${parameters}`;
}

/** Serves the application locally: its pages are empty, and its frames wait for `release`. */
async function serveApplication(page: Page): Promise<() => Promise<void>> {
  const waiting: Route[] = [];
  const empty = (route: Route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Planner</title>" });
  await page.route(`${application}/**`, empty);
  await page.route(`${application}/front-channel**`, (route) => {
    waiting.push(route);
  });
  return async () => {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    await Promise.all(waiting.splice(0).map(empty));
  };
}

describe.each<Language>(languages)("%s", (language) => {
  test("from the consent page with resources and authorization details to front-channel logout", async () => {
    const context = await openContext(fixtures.browser, language);
    const page = await context.newPage();
    const release = await serveApplication(page);
    const scope = "openid profile offline_access calendar:read calendar:write files:read";
    await page.goto(authorizationUrl({ scope, prompt: "consent", authorization_details: JSON.stringify(details) }));
    await see(page, "sign-in-links", language);
    expect(
      await page.locator(".links a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
    ).toEqual([`${application}/privacy`, `${application}/terms`]);
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#allow");
    await see(page, "consent-details", language);
    const text = (await page.textContent("ul.scopes"))?.replace(/\s+/g, " ") ?? "";
    for (const shown of [
      "Merchant A",
      "Remittance information:",
      language === "de" ? "123,50 EUR" : "EUR 123.50",
      "Z".repeat(90),
      "Calendar",
      "Make, move and cancel",
      "Read your files",
    ]) {
      expect(text).toContain(shown);
    }
    await page.click("#allow");
    await page.waitForURL(`${application}/callback**`);

    // A login at the application starts at the account page.
    await page.goto(`${fixtures.provider.origin}/account/applications`);
    await see(page, "account-start", language);
    await page.click("[data-start=planner]");
    await page.waitForURL(`${application}/start?iss=${encodeURIComponent(fixtures.provider.issuer)}`);

    // With an application to return to, the page continues when its frames have loaded.
    const parameters = new URLSearchParams({ client_id: "planner", post_logout_redirect_uri: `${application}/` });
    await page.goto(`${fixtures.provider.origin}/logout?${parameters}`);
    await see(page, "logout-asked", language);
    await page.click("#sign-out", { noWaitAfter: true });
    await page.waitForSelector("[role=status]");
    await see(page, "front-channel", language);
    expect(await page.getAttribute("#continue", "href")).toBe(`${application}/`);
    await release();
    await page.waitForURL(`${application}/`);
    await context.close();
  });
});

test.each<Language>(languages)(
  "%s: the logo of an application that registered itself is a copy in the page",
  async (language) => {
    const icon = await fetch(`${fixtures.provider.origin}/assets/icon.svg`);
    expect(icon.status).toBe(200);
    const context = await openContext(fixtures.browser, language);
    const page = await context.newPage();
    // A picture created by the browser: PNG, 64 pixels wide.
    await page.setContent(await icon.text());
    const png = await page.locator("svg").screenshot({ omitBackground: true });
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${request.url} ${request.headers["user-agent"] ?? ""}`);
      response.writeHead(200, { "content-type": "image/png" }).end(png);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const metadata = {
      ...{ client_name: "Trip planner", redirect_uris: [`${own}/callback`], logo_uri: `${own}/logo.png` },
      ...{ policy_uri: `${application}/privacy`, tos_uri: `${application}/terms` },
    };
    const registered = await fetch(`${fixtures.provider.origin}/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(metadata),
    });
    const { client_id } = (await registered.json()) as { client_id: string };
    const query = {
      client_id,
      redirect_uri: `${own}/callback`,
      response_type: "code",
      scope: "openid email",
      nonce: "n",
    };
    await page.goto(`${fixtures.provider.origin}/authorize?${new URLSearchParams(query)}`);
    expect(await page.getAttribute(".mark img", "src")).toMatch(/^data:image\/png;base64,/);
    expect(await page.locator(".mark img").evaluate((image) => image.getBoundingClientRect().height)).toBe(48);
    await see(page, "sign-in-logo", language);
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#allow");
    await see(page, "consent-logo", language);
    // The provider fetched it; the browser did not.
    expect(requests.filter((each) => each.startsWith("/logo.png"))).toHaveLength(1);
    expect(requests.join()).not.toContain("Mozilla");
    await context.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  },
);

test.each<Language | "no script">([...languages, "no script"])(
  "%s: a person chooses an organisation",
  async (language) => {
    const hasScript = language !== "no script";
    const context = await openContext(fixtures.browser, hasScript ? language : "en", { javaScriptEnabled: hasScript });
    const page = await context.newPage();
    await page.route(`${application}/**`, (route) => route.fulfill({ body: "" }));
    const asking = { client_id: "company-planner", scope: "openid profile", prompt: "consent", nonce: "n" };
    await page.goto(authorizationUrl(asking));
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    await page.click("#sign-in");
    await page.waitForSelector("#organizations");
    if (hasScript) await see(page, "organizations", language);
    await page.click("text=Acme GmbH");
    await page.waitForSelector("#allow");
    expect(await page.textContent("#organization")).toContain("Acme GmbH");
    await context.close();
  },
);

test("without an application to return to, the page stays, also if its frames do not load", async () => {
  const context = await openContext(fixtures.browser);
  const page = await context.newPage();
  const release = await serveApplication(page);
  await page.goto(authorizationUrl({ scope: "openid calendar:read", prompt: "consent" }));
  await page.fill("#username", person.username);
  await page.fill("#password", person.password);
  await page.click("#sign-in");
  await page.waitForSelector("#allow");
  await see(page, "consent-resource");
  await page.click("#allow");
  await page.waitForURL(`${application}/callback**`);
  await page.goto(`${fixtures.provider.origin}/logout`);
  await page.click("#sign-out", { noWaitAfter: true });
  await page.waitForSelector("[role=status]");
  await see(page, "front-channel-stays");
  await release();
  expect(await page.textContent("main")).toContain("You are also being signed out of your applications.");
  await context.close();
});

/**
 * Chromium applies the policy of a page with a form to each redirect after it. The client's https callback sends the browser on, to a place that only
 * the client knows.
 */
describe("CSP §6.4.1: a redirect that goes on after the client's https callback arrives", () => {
  const servers: (HttpServer | HttpsServer)[] = [];
  let callback: string;
  let loopback: string;
  let next: string;

  async function listen(server: HttpServer | HttpsServer): Promise<number> {
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  beforeAll(async () => {
    const { key, cert } = await selfSigned({ names: [{ type: "dns", value: "localhost" }] });
    const application = createHttpsServer({ key, cert }, (_, response) => {
      response.writeHead(302, { location: next }).end();
    });
    callback = `https://localhost:${await listen(application)}/callback`;
    loopback = `http://127.0.0.1:${await listen(createServer((_, response) => response.end("done")))}/done`;
    await fixtures.admin.require("POST", "/clients", {
      ...{ client_id: "handing-over", token_endpoint_auth_method: "none", scope: "openid" },
      ...{ redirect_uris: [callback], post_logout_redirect_uris: [callback] },
    });
  });
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  test.each([
    ["a loopback port", () => loopback],
    ["the application's own scheme", () => "com.example.planner://done"],
  ])("%s: after consent, a sign-in with a remembered consent, and a sign-out", async (_name, target) => {
    next = target();
    const context = await openContext(fixtures.browser, "en", { ignoreHTTPSErrors: true });
    const { origin } = fixtures.provider;
    const open = async (url: string) => {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    };
    const begin = (prompt: string) =>
      open(authorizationUrl({ client_id: "handing-over", redirect_uri: callback, scope: "openid", prompt }));
    const press = async (page: Page, button: string) => {
      const arrived: string[] = [];
      page.on("framenavigated", (frame) => arrived.push(frame.url()));
      // No program here has the scheme: the request that fails is the browser's attempt to call one. A policy fails the redirect before it.
      page.on("requestfailed", (request) => arrived.push(request.url()));
      await page.click(button, { noWaitAfter: true });
      await expect.poll(() => arrived, { timeout: 10_000 }).toContain(next);
      await page.close();
    };
    const consent = await begin("consent");
    await consent.fill("#username", person.username);
    await consent.fill("#password", person.password);
    await consent.click("#sign-in");
    await consent.waitForSelector("#allow");
    await press(consent, "#allow");
    const again = await begin("login");
    await again.fill("#password", person.password);
    await press(again, "#sign-in");
    const parameters = new URLSearchParams({ client_id: "handing-over", post_logout_redirect_uri: callback });
    await press(await open(`${origin}/logout?${parameters}`), "#sign-out");
    await context.close();
  });
});
