import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type BrowserFixtures,
  capture,
  type Language,
  languages,
  openBrowserFixtures,
  openContext,
  see,
} from "./browser-fixtures.ts";
import { consoleScopes, signInToConsole } from "./console-fixtures.ts";

let fixtures: BrowserFixtures;

beforeAll(async () => {
  fixtures = await openBrowserFixtures({ direct: true });
  const { admin } = fixtures;
  await admin.require("POST", "/resources", {
    ...{ identifier: "https://api.example.com/notes", resource_id: "notes", name: "Notes", clients: "any" },
    scopes: [{ value: "notes:read", description: "Read your notes", default: true }],
  });
  await admin.require("POST", "/issuers", {
    ...{ issuer_id: "ci", issuer: "https://ci.example.com", algorithms: ["ES256"] },
    jwks_uri: "https://ci.example.com/jwks",
    rules: [
      {
        ...{ rule_id: "deploy", uses: ["assertion"], claims: { sub: { exact: "repo:acme" } }, scopes: ["deploy"] },
        ...{ client_id: "demo-app", subject: { type: "client" }, audiences: ["https://api.example.com"] },
      },
    ],
  });
  await admin.require("POST", "/upstreams", {
    ...{ upstream_id: "corp", name: "Corp", issuer: "https://login.corp.example", client_id: "op", client_secret: "s" },
  });
  await admin.require("PUT", "/roles/editor", { permissions: ["articles:write"] });
  await admin.require("PUT", "/organization-roles/billing", { permissions: ["invoices:read"] });
  await admin.require("POST", "/organizations", { org_id: "acme", name: "Acme" });
  await admin.require("PUT", "/organizations/acme/members/alice", { roles: ["billing"] });
  await admin.require("PUT", "/groups/staff", { roles: ["editor"] });
});

afterAll(() => fixtures.close());

async function openConsole(language: Language, name: string, permissions = consoleScopes): Promise<Page> {
  const context = await openContext(fixtures.browser, language);
  return signInToConsole(fixtures, context, `${name}-${language}`, permissions);
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${fixtures.provider.origin}${path}`);
}

/** Every page that is opened by its path, by the name of its picture. */
const pages = {
  overview: "/console",
  start: "/console/start",
  "start-one": "/console/start/auth-js",
  clients: "/console/clients",
  "clients-search": "/console/clients?by=client_name&value=demo*",
  client: "/console/clients/demo-app",
  "client-create": "/console/clients/new",
  "client-edit": "/console/clients/demo-app/edit",
  "client-disable": "/console/clients/demo-app/disable",
  "client-test": "/console/clients/demo-app/test",
  "client-secret": "/console/clients/demo-app/secrets/new",
  "document-host-create": "/console/document-hosts/new",
  users: "/console/users",
  user: "/console/users/alice",
  "user-edit": "/console/users/alice/edit",
  "user-create": "/console/users/new",
  "user-suspend": "/console/users/alice/disable",
  "user-temporary": "/console/users/alice/temporary-password",
  "invitation-create": "/console/invitations/new",
  roles: "/console/roles",
  role: "/console/roles/editor",
  "role-create": "/console/roles/new",
  "attribute-create": "/console/attributes/new",
  organizations: "/console/organizations",
  organization: "/console/organizations/acme",
  "member-add": "/console/organizations/acme/new-member",
  resources: "/console/resources",
  "resource-edit": "/console/resources/notes/edit",
  issuers: "/console/issuers",
  issuer: "/console/issuers/ci",
  "issuer-edit": "/console/issuers/ci/edit",
  upstream: "/console/upstreams/corp",
  "upstream-kinds": "/console/upstreams/new",
  "upstream-create": "/console/upstreams/new/oidc",
  "upstream-create-apple": "/console/upstreams/new/apple",
  "issuer-test": "/console/issuers/ci/test",
  keys: "/console/keys",
  "key-rotate": "/console/keys/rotate",
  shards: "/console/shards",
  "generation-open": "/console/shards/generations/new",
  "held-decide": "/console/held-records/client/demo-app/decide",
  audit: "/console/audit",
  "audit-verification": "/console/audit/verification",
  refusals: "/console/refusals",
  settings: "/console/settings",
  branding: "/console/branding",
  "branding-edit": "/console/branding/edit",
} as const;

describe("an administrator of everything, 390×844 and 1280×900", () => {
  it.each<Language>(languages)("%s", { timeout: 400_000 }, async (language) => {
    const { provider } = fixtures;
    // A refusal for the page that explains it.
    await fetch(
      `${provider.origin}/authorize?client_id=demo-app&response_type=code&redirect_uri=https://evil.example/cb`,
    );
    const page = await openConsole(language, "everything");
    const problems: string[] = [];
    for (const [name, path] of Object.entries(pages)) {
      await open(page, path);
      try {
        await see(page, `console-${name}`, language);
      } catch (error) {
        problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

describe("changes", () => {
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    page = await openConsole("en", "changes");
    context = page.context();
  });

  afterAll(() => context.close());

  const main = async () => (await page.textContent("main")) ?? "";
  const confirm = async () => {
    await page.click("#confirm");
    await page.waitForSelector(".note");
    expect(await page.locator("#problem").allInnerTexts()).toEqual([]);
  };

  it("a client is created for a framework, and its code has the client's values", async () => {
    await open(page, "/console/start/auth-js");
    await page.fill("#field-name", "Photo album");
    await page.fill("#field-origin", "https://photos.example.com");
    await page.click("#continue");
    await see(page, "console-start-confirm");
    await page.click("#confirm");
    await see(page, "console-start-done");
    const code = (await page.textContent("pre")) ?? "";
    expect(code).toContain(`const issuer = "${fixtures.provider.issuer}"`);
    expect(code).not.toMatch(/CLIENT_ID|CLIENT_SECRET|RANDOM_SECRET|example\.com(?<!photos\.example\.com)/);
    const [, clientId, clientSecret] = /\["([^"]+)", "([^"]+)", "/.exec(code)!;
    const { body } = await fixtures.admin.call("GET", `/clients/${clientId}`);
    expect(body).toMatchObject({
      client_name: "Photo album",
      redirect_uris: ["https://photos.example.com/auth/callback/edge-op"],
    });
    expect(clientSecret).toMatch(/^[\w-]{43}$/);
  });

  it("a change shows what it changes and ends, and is in force after the confirmation alone", async () => {
    await open(page, "/console/clients/demo-app/edit");
    await page.fill("#field-client_name", "Demo <b>application</b>");
    await page.check("#field-require_mfa");
    await page.click("#continue");
    await see(page, "console-client-confirm");
    expect(await page.locator("#changes dd").allInnerTexts()).toEqual([
      "before: Demo application",
      "now: Demo <b>application</b>",
      "now: yes",
    ]);
    expect((await fixtures.admin.call("GET", "/clients/demo-app")).body["client_name"]).toBe("Demo application");
    await confirm();
    expect((await fixtures.admin.call("GET", "/clients/demo-app")).body).toMatchObject({
      client_name: "Demo <b>application</b>",
      require_mfa: true,
    });
    // Its name is shown as text, wherever it is shown.
    expect(await page.locator("b").count()).toBe(0);
    await open(page, "/console/clients");
    expect(await page.locator("b").count()).toBe(0);
    expect(await main()).toContain("Demo <b>application</b>");
  });

  it("RFC 9110 §13.1.1: a change of a record that somebody else has changed is refused, and the form shows it as it is", async () => {
    await open(page, "/console/clients/demo-app/edit");
    await page.fill("#field-client_name", "Mine");
    await page.click("#continue");
    await fixtures.admin.require("PATCH", "/clients/demo-app", { client_name: "Theirs" });
    await page.click("#confirm");
    await page.waitForSelector("#problem");
    await see(page, "console-client-outdated");
    expect(await page.inputValue("#field-client_name")).toBe("Theirs");
    expect((await fixtures.admin.call("GET", "/clients/demo-app")).body["client_name"]).toBe("Theirs");
  });

  it("a refused change names its fields and keeps what was typed", async () => {
    await open(page, "/console/clients/demo-app/edit");
    await page.fill("#field-redirect_uris", "http://photos.example.com/callback");
    await page.click("#continue");
    await page.click("#confirm");
    await page.waitForSelector("#problem");
    await see(page, "console-client-refused");
    expect(await page.textContent("#problem")).toContain("redirect_uris[0]");
    expect(await page.inputValue("#field-redirect_uris")).toBe("http://photos.example.com/callback");
  });

  it("a secret is shown once, and the one before ends after the overlap", async () => {
    await open(page, "/console/clients/demo-app/secrets/new");
    await page.selectOption("#field-overlap", "3600");
    await page.click("#continue");
    await page.click("#confirm");
    await see(page, "console-secret-once");
    expect(await page.locator("dd").last().textContent()).toMatch(/^[\w-]{43}$/);
    const { body } = await fixtures.admin.call("GET", "/clients/demo-app/secrets");
    expect((body["secrets"] as readonly unknown[]).length).toBe(2);
  });

  it("a client is disabled and enabled", async () => {
    for (const [change, status] of [
      ["disable", "disabled"],
      ["enable", "active"],
    ] as const) {
      await open(page, `/console/clients/demo-app/${change}`);
      await confirm();
      expect((await fixtures.admin.call("GET", "/clients/demo-app")).body["status"]).toBe(status);
    }
  });

  it("a session of a user is ended, and a user is suspended", async () => {
    const { admin, browser, provider } = fixtures;
    const other = await openContext(browser);
    const signedIn = await other.newPage();
    await signedIn.goto(`${provider.origin}/account`);
    await signedIn.fill("#username", "alice");
    await signedIn.fill("#password", "correct horse battery staple");
    await signedIn.click("#sign-in");
    await signedIn.waitForSelector("h2");
    await open(page, "/console/users?by=email&value=alice*");
    await page.click("ul.list a");
    await see(page, "console-user-signed-in");
    await page.click("ul.list a.danger >> nth=0");
    await confirm();
    expect((await admin.call("GET", "/users/alice/sessions")).body["sessions"]).toEqual([]);
    await signedIn.reload();
    expect(await signedIn.locator("#username").count()).toBe(1);
    await other.close();
    await open(page, "/console/users/alice");
    await page.click("a[href='/console/organizations/acme/members/alice/edit']");
    expect(await page.inputValue("#field-roles")).toBe("billing");
    await open(page, "/console/users/alice/disable");
    await confirm();
    expect((await admin.call("GET", "/users/alice")).body["status"]).toBe("suspended");
  });

  it("roles and resources are changed", async () => {
    await open(page, "/console/roles/new");
    await page.fill("#field-role", "author");
    await page.fill("#field-permissions", "articles:write\narticles:read");
    await page.click("#continue");
    await confirm();
    expect((await fixtures.admin.call("GET", "/roles/author")).body["permissions"]).toEqual([
      "articles:read",
      "articles:write",
    ]);
    await open(page, "/console/resources/notes/edit");
    await page.fill("#field-scopes", "notes:read: See your notes\nnotes:write: Write notes");
    await page.click("#continue");
    await confirm();
    expect((await fixtures.admin.call("GET", "/resources/notes")).body["scopes"]).toEqual([
      { value: "notes:read", description: "See your notes", default: true },
      { value: "notes:write", description: "Write notes" },
    ]);
  });

  it("RFC 7396 §2: an issuer is trusted by rules as JSON, and a rule that is changed replaces the others", async () => {
    const rule = {
      ...{ rule_id: "deploy", uses: ["assertion"], claims: { sub: { exact: "repo:acme" } }, scopes: ["deploy"] },
      ...{ client_id: "demo-app", subject: { type: "client" }, audiences: ["https://api.example.com"] },
    };
    await open(page, "/console/issuers/new");
    await page.fill("#field-issuer", "https://tokens.example.com");
    await page.fill("#field-issuer_id", "tokens");
    await page.fill("#field-rules", "[{");
    await page.click("#continue");
    expect(await page.textContent("#problem")).toContain("JSON");
    await page.fill("#field-rules", JSON.stringify([rule]));
    await page.click("#continue");
    await confirm();
    await open(page, "/console/issuers/tokens/edit");
    await page.fill("#field-rules", "[]");
    await page.click("#continue");
    await see(page, "console-issuer-confirm");
    expect(await main()).toContain("Every token ends");
    await confirm();
    expect((await fixtures.admin.call("GET", "/issuers/tokens")).body["rules"]).toEqual([]);
  });

  it("an upstream provider and an attribute are created and changed; a secret is never shown", async () => {
    await open(page, "/console/upstreams/new/apple");
    const fieldsOfApple = await page
      .locator("form [name]")
      .evaluateAll((all) => all.map((each) => each.getAttribute("name")));
    expect(fieldsOfApple).toEqual(expect.arrayContaining(["team_id", "key_id", "private_key"]));
    for (const foreign of ["tenants", "issuer", "client_secret", "token_endpoint_auth_method"])
      expect(fieldsOfApple).not.toContain(foreign);
    expect(await main()).toContain(`${fixtures.provider.issuer}/upstream/apple/callback`);
    expect(await main()).not.toContain("backchannel-logout");
    await open(page, "/console/upstreams/new");
    await page.click('a[href="/console/upstreams/new/oidc"]');
    await page.fill("#field-name", "Partner");
    await page.fill("#field-upstream_id", "partner");
    await page.fill("#field-issuer", "https://login.partner.example");
    await page.fill("#field-client_id", "op");
    await page.fill("#field-client_secret", "a-secret-of-theirs");
    await page.check("#field-backchannel_logout");
    await see(page, "console-upstream-new");
    await page.click("#continue");
    expect(await main()).not.toContain("a-secret-of-theirs");
    expect(await main()).toContain(`${fixtures.provider.issuer}/upstream/partner/backchannel-logout`);
    expect(await main()).toContain(`${fixtures.provider.issuer}/upstream/partner/callback`);
    await confirm();
    await open(page, "/console/upstreams/partner/edit");
    expect(await page.content()).not.toContain("a-secret-of-theirs");
    await page.fill("#field-claims", "nickname: alias");
    await page.click("#continue");
    await confirm();
    const upstream = { claims: { nickname: "alias" }, has_secret: true, backchannel_logout: true };
    expect((await fixtures.admin.call("GET", "/upstreams/partner")).body).toMatchObject(upstream);
    await open(page, "/console/upstreams/partner");
    await see(page, "console-upstream");
    expect(await main()).toContain(`${fixtures.provider.issuer}/upstream/partner/backchannel-logout`);
    await open(page, "/console/attributes/new");
    await page.fill("#field-attribute", "cost_centre");
    await page.fill("#field-title", "Cost centre");
    await page.fill("#field-claim-name", "cost_centre");
    await page.fill("#field-claim-scope", "employment");
    await page.fill("#field-claim-tokens", "userinfo");
    await page.click("#continue");
    await confirm();
    await see(page, "console-attribute");
    await open(page, "/console/attributes/cost_centre/edit");
    for (const part of ["name", "scope", "tokens"]) await page.fill(`#field-claim-${part}`, "");
    await page.click("#continue");
    await confirm();
    expect((await fixtures.admin.call("GET", "/attributes/cost_centre")).body).not.toHaveProperty("claim");
  });

  it("a generation is opened", async () => {
    await open(page, "/console/shards/generations/new");
    await page.selectOption("#field-store", "challenge");
    await page.fill("#field-regions", "weur: 2");
    await page.click("#continue");
    await confirm();
    const { generations } = (await fixtures.admin.call("GET", "/shards/generations")).body;
    const opened = { store: "challenge", regions: { weur: { shards: 2, hint: "weur" } } };
    expect(generations).toEqual(expect.arrayContaining([expect.objectContaining(opened)]));
  });

  it("the rule tester says which rule matches, and why another one does not", async () => {
    await open(page, "/console/issuers/ci/test");
    await page.fill("#field-subject", '{"sub": "repo:other"}');
    await page.click("#test");
    await see(page, "console-issuer-tested");
    expect(await page.textContent("#result")).toContain("refused");
    await page.fill("#field-subject", "no token");
    await page.click("#test");
    await page.waitForSelector("#problem");
  });

  it("a key is rotated, and the timeline shows the successor", async () => {
    await open(page, "/console/keys");
    const before = await page.locator("ul.list li").count();
    await open(page, "/console/keys/rotate");
    await page.selectOption("#field-alg", "RS256");
    await page.click("#continue");
    await confirm();
    expect(await page.locator("ul.list li").count()).toBeGreaterThan(before);
  });

  it("the audit log has the console's changes, and verifies", async () => {
    await expect
      .poll(
        async () => {
          await open(page, "/console/audit?actor=changes-en&type=upstream.*&from=2026-01-01T00:00");
          return main();
        },
        { timeout: 30_000, interval: 500 },
      )
      .toMatch(/Client of who acted\s*console/);
    await open(page, "/console/audit/verification");
    await page.waitForSelector("#result.good");
  });

  it("from a person to their events, and to their sign-ins and failures, in one click", async () => {
    await open(page, "/console/users/alice");
    for (const [text, query] of [
      ["All events", "sub=alice"],
      ["Sign-ins and failures", "sub=alice&type=sign-in.*"],
    ] as const) {
      await open(page, "/console/users/alice");
      await page.click(`text=${text}`);
      expect(new URL(page.url()).pathname + decodeURIComponent(new URL(page.url()).search)).toBe(
        `/console/audit?${query}`,
      );
      expect(await page.inputValue("#sub")).toBe("alice");
    }
  });

  it("a person's page has their last sign-in: when, in which browser, from where", async () => {
    const facts = async () => {
      await open(page, "/console/users/changes-en");
      return page.locator("section", { has: page.locator("h2", { hasText: "Last sign-in" }) }).textContent();
    };
    await expect.poll(facts, { timeout: 30_000, interval: 500 }).toMatch(/Browser\s*\S*Chrom\S* · \S+/);
    expect(await facts()).toMatch(/Time\s*\d{4}-\d\d-\d\d.*Signed in by \(amr\)\s*\S/s);
  });

  it("the frameworks are found by their own names", async () => {
    await open(page, "/console/start");
    expect(await page.locator("ul.list strong").allInnerTexts()).toEqual(
      expect.arrayContaining(["Next.js: NextAuth", "Express: Auth.js", "Spring Security"]),
    );
  });

  it("why was this refused: the rule, what was sent, what is registered", async () => {
    const { provider } = fixtures;
    const evil = "https://evil.example/cb";
    const query = new URLSearchParams({ client_id: "demo-app", response_type: "code", redirect_uri: evil });
    await fetch(`${provider.origin}/authorize?${query}`);
    await expect
      .poll(
        async () => {
          await open(page, "/console/refusals?by=client_id&value=demo-app");
          return main();
        },
        { timeout: 30_000, interval: 500 },
      )
      .toContain("redirect-uri-not-registered");
    expect(await main()).toContain(fixtures.application.origin);
    expect(await main()).toContain(evil);
    await see(page, "console-refusal");
  });

  /** Of a frame of the preview: the scheme's ground, what framed it, and whether its logo has loaded. */
  const frameOf = (name: string, scheme: string) =>
    page.evaluate<[ground: string, heading: string, hasLogo: boolean]>(
      `(async () => {
        const frame = document.querySelector("iframe[src*='/${name}?'][src$='=${scheme}']");
        frame.loading = "eager";
        const at = () => frame.contentDocument;
        while (at()?.readyState !== "complete" || at().URL === "about:blank") await new Promise((done) => setTimeout(done, 50));
        const { backgroundColor } = frame.contentWindow.getComputedStyle(at().body);
        const image = at().querySelector(".brand img");
        return [backgroundColor, at().querySelector("h1").textContent, image === null || image.naturalWidth > 0];
      })()`,
    );

  it("a branding is refused with its reason, seen on every page in both schemes, saved at once, and taken back", {
    timeout: 120_000,
  }, async () => {
    await open(page, "/console/branding/edit");
    await page.fill("#field-brand_color", "red");
    await page.click("#continue");
    expect(await page.textContent("#problem")).toContain('brand_color: must be a colour like #1f5fd6, not "red"');
    const values = {
      ...{ brand_color: "#8a1253", brand_color_dark: "#f2a3c6", background_color: "#fbf3e4", corner_radius: "2" },
      ...{ "texts-sign_in_heading": "en: Hello reader", "texts-footer": "en: Acme Ltd, Springfield" },
      "texts-sign_in_intro": "en: Use the account of your library card.",
    };
    for (const [name, value] of Object.entries(values)) await page.fill(`#field-${name}`, value);
    await page.selectOption("#field-font", "serif");
    await page.click("#continue");
    await page.waitForSelector("#confirm");
    expect(await frameOf("sign-in", "light")).toEqual(["rgb(251, 243, 228)", "Hello reader", true]);
    expect(await frameOf("sign-in", "dark")).toEqual(["rgb(15, 18, 24)", "Hello reader", true]);
    const shown = await page.locator("iframe[src$='=light']").evaluateAll((frames) => frames.map((frame) => frame.src));
    const names = shown.map((src) => new URL(src).pathname.slice("/flow/preview/".length));
    for (const name of names) expect((await frameOf(name, "light"))[0], name).toBe("rgb(251, 243, 228)");
    expect(names).toHaveLength(12);
    for (const name of names) expect((await frameOf(name, "dark"))[0], name).toBe("rgb(15, 18, 24)");
    await see(page, "console-branding-preview");
    for (const [at, name] of names.entries()) {
      const alone = await context.newPage();
      await alone.goto(shown[at]!.replace("&scheme=light", ""));
      // No script runs in it, so axe does not either; the pages themselves have tests.
      for (const [colorScheme, width] of [
        ["light", 1280],
        ["dark", 390],
      ] as const) {
        await alone.setViewportSize({ width, height: 900 });
        await alone.emulateMedia({ colorScheme });
        await capture(alone, `branding-${name}-${colorScheme}`);
      }
      await alone.close();
    }
    await page.click("#confirm");
    await page.waitForSelector(".note.good");
    await see(page, "console-branding-saved");
    const visitor = await openContext(fixtures.browser);
    const signIn = await visitor.newPage();
    await signIn.goto(`${fixtures.application.origin}/login`);
    await see(signIn, "sign-in-branded");
    expect(await signIn.textContent("h1")).toBe("Hello reader");
    expect(await signIn.textContent("footer")).toContain("Acme Ltd, Springfield");
    await open(page, "/console/branding/reset");
    await page.click("#confirm");
    await page.waitForSelector(".note.good");
    await signIn.goto(`${fixtures.application.origin}/login`);
    expect(await signIn.textContent("h1")).toBe("Sign in");
    await visitor.close();
  });

  it("signing out ends the console's session, and leads to the provider's", async () => {
    await open(page, "/console");
    await page.click("#sign-out");
    await see(page, "console-signed-out");
    expect((await context.cookies()).map(({ name }) => name)).not.toContain("op-console");
  });
});

describe("without scripts", () => {
  it("an administrator signs in, changes a client and signs out", async () => {
    const context = await openContext(fixtures.browser, "en", { javaScriptEnabled: false });
    const page = await signInToConsole(fixtures, context, "no-scripts", consoleScopes, { hasScripts: false });
    await open(page, "/console/clients/demo-app/edit");
    await page.fill("#field-client_name", "Without scripts");
    await page.click("#continue");
    await page.click("#confirm");
    await page.waitForSelector(".note.good");
    expect((await fixtures.admin.call("GET", "/clients/demo-app")).body["client_name"]).toBe("Without scripts");
    await page.click("#sign-out");
    await page.waitForSelector("h1");
    expect((await context.cookies()).map(({ name }) => name)).not.toContain("op-console");
    await context.close();
  });
});

describe("an administrator of clients only", () => {
  it("sees the pages of clients alone, and no other by its address", async () => {
    const page = await openConsole("en", "clients", ["admin:clients"]);
    await see(page, "console-clients-only");
    expect(await page.locator("nav.sections a").allInnerTexts()).toEqual([
      ...["Overview", "Start", "Clients", "Resources", "Branding"],
    ]);
    for (const path of ["/console/users", "/console/keys/rotate", "/console/audit", "/console/settings"]) {
      const response = await page.goto(`${fixtures.provider.origin}${path}`);
      expect(response!.status(), path).toBe(403);
    }
    await see(page, "console-forbidden");
    await page.context().close();
  });

  it("WCAG 2.1.1, 2.4.7: a client is opened and its change is begun and left by the keyboard, with a visible focus", async () => {
    const page = await openConsole("en", "keyboard", ["admin:clients"]);
    const focused = () =>
      page.evaluate<[string, string]>(
        "[document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle]",
      );
    const activate = async (text: string, path: string) => {
      for (let presses = 0; (await focused())[0] !== text; presses++) {
        expect(presses, `Tab does not reach ${text}`).toBeLessThan(30);
        await page.keyboard.press("Tab");
      }
      expect((await focused())[1], text).not.toBe("none");
      await page.keyboard.press("Enter");
      await page.waitForURL(`${fixtures.provider.origin}${path}`);
    };
    await activate("Clients", "/console/clients");
    await activate("Open Administration", "/console/clients/admin");
    await activate("Change", "/console/clients/admin/edit");
    await activate("Cancel", "/console/clients/admin");
    await page.context().close();
  });

  it("a person without any permission sees no page of the admin API", async () => {
    const page = await openConsole("en", "nobody", []);
    await see(page, "console-nobody");
    expect(await page.locator("nav.sections a").allInnerTexts()).toEqual(["Overview"]);
    await page.context().close();
  });
});

describe("the console on an origin of its own", () => {
  it("signs in at the issuer's, has its own cookies, assets and policy, and sends no cookie of one to the other", async () => {
    const { admin, provider } = fixtures;
    // Browsers keep cookies by host: the issuer is at localhost.
    const own = new URL(provider.direct["op-console"]!);
    own.hostname = "127.0.0.1";
    const context = await openContext(fixtures.browser);
    const callbacks = [`${provider.issuer}/console/callback`, `${own.origin}/console/callback`];
    const refused = await context.newPage();
    await refused.goto(`${own.origin}/console`);
    expect(await refused.content()).toContain("redirect_uri");
    await admin.require("PATCH", "/clients/console", { redirect_uris: callbacks });
    const page = await signInToConsole(fixtures, context, "elsewhere", consoleScopes, { origin: own.origin });
    expect(new URL(page.url()).origin).toBe(own.origin);
    await see(page, "console-own-origin");
    const hosts = new Map((await context.cookies()).map(({ name, domain }) => [name, domain]));
    expect([hosts.get("op-console"), hosts.get("op-session")]).toEqual(["127.0.0.1", "localhost"]);
    await page.goto(`${own.origin}/console/clients/demo-app/edit`);
    await page.fill("#field-client_name", "From its own origin");
    await page.click("#continue");
    await page.click("#confirm");
    await page.waitForSelector(".note.good");
    expect((await admin.call("GET", "/clients/demo-app")).body["client_name"]).toBe("From its own origin");
    await page.click("#sign-out");
    await page.waitForSelector("h1");
    expect(await page.getAttribute("main a", "href")).toBe(`${provider.issuer}/logout`);
    await context.close();
  });
});
