import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserFixtures, openBrowserFixtures, openContext, see } from "./browser-fixtures.ts";
import { signInToConsole } from "./console-fixtures.ts";

/** `/organization/{org_id}`: a company administers itself (O8, O9). */
let fixtures: BrowserFixtures;

beforeAll(async () => {
  fixtures = await openBrowserFixtures({ direct: true });
  const { admin } = fixtures;
  const roles = { owner: ["org:owner"], hr: ["org:members"], billing: ["invoices:read"] };
  for (const [role, permissions] of Object.entries(roles)) {
    await admin.require("PUT", `/organization-roles/${role}`, { permissions });
  }
  for (const [id, name] of [
    ["acme", "Acme"],
    ["beta", "Beta"],
  ] as const) {
    await admin.require("POST", "/organizations", { org_id: id, name });
  }
  await admin.require("PUT", "/organizations/acme/members/alice", { roles: ["billing"] });
});

afterAll(() => fixtures.close());

async function openOwn(username: string, role: string): Promise<Page> {
  const { admin, browser } = fixtures;
  const join = () => admin.require("PUT", `/organizations/acme/members/${username}`, { roles: [role] });
  const context = await openContext(browser);
  return signInToConsole(fixtures, context, username, ["none:needed"], { path: "/organization/acme", join });
}

const open = (page: Page, path: string) => page.goto(`${fixtures.provider.origin}${path}`);

async function confirm(page: Page): Promise<void> {
  await page.click("#confirm");
  await page.waitForSelector("[role=status], [role=alert]");
}

describe("/organization", () => {
  it("an owner renames the organisation, changes a role, suspends and removes a member", {
    timeout: 300_000,
  }, async () => {
    const { admin } = fixtures;
    const page = await openOwn("olga", "owner");
    await see(page, "own-overview");
    await open(page, "/organization/acme/members");
    await see(page, "own-members");
    await page.click("a[href='/organization/acme/members/alice/edit']");
    await see(page, "own-member-edit");
    await page.fill("#field-roles", "billing\nhr");
    await page.click("#continue");
    await confirm(page);
    expect((await admin.call("GET", "/organizations/acme/members/alice")).body["roles"]).toEqual(["billing", "hr"]);
    await open(page, "/organization/acme/members/alice/edit");
    await page.selectOption("#field-status", "suspended");
    await page.click("#continue");
    await confirm(page);
    expect((await admin.call("GET", "/organizations/acme/members/alice")).body["status"]).toBe("suspended");
    await open(page, "/organization/acme/settings");
    await see(page, "own-settings");
    await page.fill("#field-name", "Acme Ltd");
    await page.click("#continue");
    await confirm(page);
    expect(await page.textContent("h1")).toBe("Acme Ltd");
    await open(page, "/organization/acme/new-domain");
    await page.fill("#field-domain", "acme.example");
    await page.click("#continue");
    await confirm(page);
    await see(page, "own-domains");
    expect(await page.textContent("ul.list")).toContain("_edge-op.acme.example");
    await open(page, "/organization/acme/new-scim-token");
    await page.fill("#field-name", "Entra");
    await page.click("#continue");
    await page.click("#confirm");
    await see(page, "own-scim-token");
    const [url, token] = await page.locator("dd").allTextContents();
    const users = await fetch(`${url}/Users`, { headers: { authorization: `Bearer ${token}` } });
    expect([users.status, await users.json()]).toMatchObject([200, { totalResults: 0 }]);
    await open(page, "/organization/acme/directory");
    await see(page, "own-directory");
    await open(page, "/organization/acme");
    await see(page, "own-steps");
    // The last owner stays, and the page says so.
    await open(page, "/organization/acme/members/olga/end");
    await confirm(page);
    expect(await page.textContent("#problem")).toContain("last active owner");
    await open(page, "/organization/acme/members/alice/end");
    await confirm(page);
    expect((await admin.call("GET", "/organizations/acme/members/alice")).status).toBe(404);
    await page.context().close();
  });

  it("who administers members alone gives no more than they have, and another organisation is none", async () => {
    const { admin, provider } = fixtures;
    const page = await openOwn("hana", "hr");
    expect(await page.locator("nav a", { hasText: "Settings" }).count()).toBe(0);
    await open(page, "/organization/acme/members/hana/edit");
    await page.fill("#field-roles", "hr\nowner");
    await page.click("#continue");
    await page.click("#confirm");
    await page.waitForSelector("h1");
    expect((await admin.call("GET", "/organizations/acme/members/hana")).body["roles"]).toEqual(["hr"]);
    expect((await open(page, "/organization/acme/settings"))?.status()).toBe(403);
    await open(page, "/organization/beta");
    expect(new URL(page.url()).pathname).toBe("/console/callback");
    // The session of the organisation is no session of the deployment's console.
    await open(page, "/console/users");
    expect(await page.locator("ul.list").count()).toBe(0);
    await open(page, "/organization/acme");
    await page.click("#sign-out");
    await page.waitForSelector(`a[href='${provider.issuer}/logout']`);
    await page.context().close();
  });
});
