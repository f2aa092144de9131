import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BrowserFixtures, capture, openBrowserFixtures, openContext, see } from "./browser-fixtures.ts";

/** A deployment with a light colour and a wide logo, and logos of clients. */
let fixtures: BrowserFixtures;
const wide = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="100"><rect width="400" height="100" fill="#225"/></svg>`;

beforeAll(async () => {
  const LOGO_URL = `data:image/svg+xml;base64,${btoa(wide)}`;
  const LOGO_URL_DARK = `data:image/svg+xml,${wide.replace("#225", "%23fd0")}`;
  const vars = {
    DISPLAY_NAME: "Acme",
    BRAND_COLOR: "#ffe14d",
    LOGO_URL,
    LOGO_URL_DARK,
    CORNER_RADIUS: "20",
    FONT: "rounded",
  };
  fixtures = await openBrowserFixtures({ vars });
}, 120_000);
afterAll(() => fixtures.close());

/** The sign-in page for the demo's client with a logo; without scripts. */
async function openSignIn(context: BrowserContext, logo: string | null): Promise<Page> {
  await fixtures.admin.require("PATCH", "/clients/demo-app", { logo_uri: logo });
  const page = await context.newPage();
  await page.route("https://logos.example/wide.svg", (route) =>
    route.fulfill({ contentType: "image/svg+xml", body: wide }),
  );
  await page.route("https://logos.example/gone.png", (route) => route.abort());
  await page.goto(`${fixtures.application.origin}/login`);
  return page;
}

test("WCAG 2.2 §1.4.3: a light brand colour keeps contrast, a wide logo its shape", async () => {
  const context = await openContext(fixtures.browser);
  const page = await openSignIn(context, null);
  await see(page, "branding");
  const { width, height } = (await page.locator(".brand img").boundingBox())!;
  expect([width, height]).toEqual([128, 32]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const shown = "document.querySelector('.brand img').currentSrc.includes('fd0')";
    await expect.poll(() => page.evaluate<boolean>(shown)).toBe(colorScheme === "dark");
  }
  await context.close();
});

test("a client's logo that does not load shows its initial, without scripts", async () => {
  const context = await fixtures.browser.newContext({ javaScriptEnabled: false });
  const broken = await openSignIn(context, "https://logos.example/gone.png");
  await capture(broken, "client-logo-broken");
  expect(await broken.locator(".mark img").count()).toBe(1);
  const { width: side } = (await broken.locator(".mark img").boundingBox())!;
  expect(side).toBe(48);
  const style = `getComputedStyle(document.querySelector(".mark img"), "::after").content`;
  expect(await broken.evaluate<string>(style)).toBe('"D"');
  const shown = await openSignIn(context, "https://logos.example/wide.svg");
  await capture(shown, "client-logo-wide");
  const { width, height } = (await shown.locator(".mark img").boundingBox())!;
  // Four times as wide as high, up to the space for it.
  expect([width, height]).toEqual([186, 48]);
  await context.close();
});
