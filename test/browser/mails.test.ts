/** **Mails as a program shows them**, in every language: what axe finds, and whether one is wider than a phone of 320 px. */

import axe, { type AxeResults } from "axe-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readBranding } from "../../packages/pages/src/branding.ts";
import { type AccountMail, codeMailKinds, renderAccountMail } from "../../packages/pages/src/mail/codes.ts";
import { translatedLanguages } from "../../packages/shared/src/config/text-languages.ts";
import { noticeKinds } from "../../packages/shared/src/mail/mail-sender-rpc.ts";
import { capture, launchChromium, openContext } from "./browser-fixtures.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const branding = readBranding({ DISPLAY_NAME: "Acme", SUPPORT_URL: "https://acme.example/help" });
const frame = { issuer: "https://op.example.com", deletionGraceDays: 14, branding };
const facts = {
  atMs: Date.parse("2026-11-23T15:30:00Z"),
  zoneinfo: "Europe/Berlin",
  asker: { device: "Firefox · Windows", city: "Köln", country: "DE", timeZone: "Europe/Berlin" },
};
const mails: readonly AccountMail[] = [
  ...codeMailKinds.map((kind) => ({ kind, code: "12345678", ...facts })),
  ...noticeKinds.map((kind) => ({ kind, ...facts })),
  { kind: "address-changed", undoPath: "/account/address/undo?undo=abcdefghijklmnopqrstuvwxyz0123456789", ...facts },
];
/** A mail is part of a page of its program, which has the landmarks. */
const wcag = "{ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }";
/** axe looks at one of each layout. */
const layouts = ["sign-in", "address-changed", "invitation"];

describe("WCAG 2.2 §1.4.10: mails have no defect, and fit into 320 px", () => {
  it.each(Object.keys(translatedLanguages))("%s", async (locale) => {
    const context = await openContext(browser, locale);
    const page = await context.newPage();
    for (const mail of mails) {
      const { html } = await renderAccountMail({ ...mail, locale }, frame);
      await page.setContent(html);
      await page.setViewportSize({ width: 320, height: 640 });
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      expect(wide, mail.kind).toBeLessThanOrEqual(0);
      if (!layouts.includes(mail.kind)) continue;
      await capture(page, `mail-${mail.kind}-${locale}`);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<AxeResults>(`axe.run(${wcag})`);
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`),
        mail.kind,
      ).toEqual([]);
    }
    await context.close();
  });
});
