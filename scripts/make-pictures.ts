/** **Makes the pictures of README.md** from the running product: the sign-in and account pages, light and dark, in `docs/images/`. Needs Chromium. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { repositoryRoot } from "../packages/edge-op/src/workers.ts";
import { openBrowserFixtures, person } from "../test/browser/browser-fixtures.ts";

const folder = join(repositoryRoot, "docs/images");
const sizes = { "sign-in": { width: 440, height: 640 }, account: { width: 700, height: 640 } } as const;
/** Playwright writes no WebP, which is a third of a PNG. */
const format = { format: "webp", quality: 80 } as const;

async function capture(page: Page, name: keyof typeof sizes, scheme: string): Promise<void> {
  await page.setViewportSize(sizes[name]);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", format);
  const picture = Buffer.from(data, "base64");
  if (picture.length > 60 * 1024) throw new Error(`${name} has ${picture.length} bytes`);
  writeFileSync(join(folder, `${name}-${scheme}.webp`), picture);
  console.log(`${name}-${scheme}.webp: ${picture.length} bytes`);
}

mkdirSync(folder, { recursive: true });
const fixtures = await openBrowserFixtures();
try {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await fixtures.browser.newContext({ colorScheme, deviceScaleFactor: 2, locale: "en-GB" });
    const page = await context.newPage();
    await page.goto(`${fixtures.application.origin}/login`);
    await page.fill("#username", person.username);
    await page.fill("#password", person.password);
    await capture(page, "sign-in", colorScheme);
    await page.click("button[type=submit]");
    await page.waitForURL(/consent|localhost:\d+\/$/);
    if (page.url().includes("consent")) await page.click("#allow");
    await page.waitForURL(`${fixtures.application.origin}/`);
    await page.goto(`${fixtures.provider.issuer}/account`);
    await capture(page, "account", colorScheme);
    await context.close();
  }
} finally {
  await fixtures.close();
}
