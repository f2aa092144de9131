import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BrowserFixtures, openBrowserFixtures, openContext, see } from "./browser-fixtures.ts";
import { signInToConsole } from "./console-fixtures.ts";

let fixtures: BrowserFixtures;

beforeAll(async () => {
  fixtures = await openBrowserFixtures();
});

afterAll(() => fixtures.close());

it("slice", async () => {
  const context = await openContext(fixtures.browser, "english", { javaScriptEnabled: false });
  const page = await signInToConsole(fixtures, context, "maria", ["admin:clients"]);
  console.log(page.url(), await page.textContent("main"));
  await page.goto(`${fixtures.provider.origin}/console/clients`);
  console.log(await page.textContent("main"));
  await page.goto(`${fixtures.provider.origin}/console/clients/demo-app`);
  console.log(await page.textContent("main"));
});
