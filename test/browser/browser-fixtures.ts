/** **The fixtures of the browser tests**: the running Workers, the demo application, a real browser. */

import { mkdirSync } from "node:fs";
import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { type DemoRp, startDemoRp } from "../../examples/application/src/start-demo-rp.ts";
import { findFreePort } from "../../packages/edge-op/src/free-port.ts";
import { AdminApi } from "../../packages/edge-op/src/provider-api.ts";
import {
  type LocalProvider,
  type LocalProviderOptions,
  startLocalProvider,
} from "../conformance/fixtures/local-provider.ts";
import { findChromium } from "./find-chromium.ts";

export interface BrowserFixtures {
  readonly provider: LocalProvider;
  readonly application: DemoRp;
  readonly browser: Browser;
  readonly admin: AdminApi;
  close(): Promise<void>;
}

export const person = { username: "alice", password: "correct horse battery staple", name: "Alice Adams" };

/** Without these options, Chromium calls its vendor's hosts. */
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launchChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("no Chromium: install it, or name it in CHROMIUM");
  return chromium.launch({ executablePath, args: quiet });
}

export async function openBrowserFixtures(
  options: Pick<LocalProviderOptions, "vars" | "direct"> = {},
): Promise<BrowserFixtures> {
  const provider = await startLocalProvider(options);
  const admin = new AdminApi(provider.origin, provider.admin);
  const port = await findFreePort("127.0.0.1");
  const origin = `http://localhost:${port}`;
  const client = await admin.require("POST", "/clients", {
    client_id: "demo-app",
    client_name: "Demo application",
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    redirect_uris: [`${origin}/callback`],
    post_logout_redirect_uris: [`${origin}/`],
    backchannel_logout_uri: `${origin}/backchannel-logout`,
    scope: "openid profile email offline_access",
    audiences: ["https://api.example.com"],
  });
  const { username, password, name } = person;
  const claims = { name, email: "alice@example.com", email_verified: true };
  await admin.require("POST", "/users", { sub: "alice", username, password, claims });
  const application = await startDemoRp({
    port,
    issuer: provider.issuer,
    client: { client_id: "demo-app", client_secret: String(client.client_secret) },
  });
  const browser = await launchChromium();
  const close = async () => {
    await browser.close();
    await application.stop();
    await provider.stop();
  };
  return { provider, application, browser, admin, close };
}

const screenshots = new URL("../../test-output/screenshots/", import.meta.url).pathname;

/** A tag of a language of the pages, or of a pseudo language. */
export type Language = string;

/**
 * The languages of each flow. The pseudo language (test/fixtures/pseudo-languages.ts) is that of the English texts: a text of a page that is in no
 * catalog is a defect. `LANGUAGES=en,ar,ja` sees the pages in others.
 */
export const languages: readonly Language[] = process.env["LANGUAGES"]?.split(",") ?? ["en-XA", "de"];

/** A context that is not German is as wide as a desktop and light; a German one is a phone's, and dark. */
export async function openContext(
  browser: Browser,
  language: Language = "en",
  options: Pick<BrowserContextOptions, "javaScriptEnabled" | "ignoreHTTPSErrors"> = {},
): Promise<BrowserContext> {
  const look = language === "de" ? looks["phone-dark"] : looks.light;
  const locale = language === "en" ? "en-GB" : language;
  const context = await browser.newContext({ ...options, ...look, locale, reducedMotion: "reduce" });
  context.setDefaultTimeout(15_000);
  return context;
}

const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };
export const looks = {
  light: { viewport: desktop, colorScheme: "light" },
  dark: { viewport: desktop, colorScheme: "dark" },
  phone: { viewport: phone, colorScheme: "light" },
  "phone-dark": { viewport: phone, colorScheme: "dark" },
} as const;

/** Looks at the page as it is, in both sizes and both schemes, and expects no defects. axe examines the last look, which is the context's own. */
export async function see(page: Page, name: string, language: Language = "en"): Promise<void> {
  await page.waitForSelector("h1");
  // An element is there before the style sheet is, and a page may never load: its frames are other sites'.
  await expect.poll(() => page.evaluate("document.styleSheets.length"), { timeout: 5_000 }).toBeGreaterThan(0);
  const order = language === "de" ? Object.entries(looks) : Object.entries(looks).toReversed();
  for (const [look, { viewport, colorScheme }] of order) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await capture(page, [name, look, ...(language === "en" ? [] : [language])].join("-"));
    expect(await page.evaluate<string[]>(findAccessibilityProblems), `${name}, ${look}`).toEqual([]);
  }
  if (language === "en-XA") await seeMirrored(page, name);
  expect(await violationsOf(page), name).toEqual([]);
  if (language !== "en" && language !== "en-XA") return;
  await page.emulateMedia({ forcedColors: "active" });
  expect(await violationsOf(page, "{ runOnly: ['color-contrast'] }"), `${name}, forced colours`).toEqual([]);
  await page.emulateMedia({ forcedColors: null });
}

const allRules = "{ resultTypes: ['violations'] }";

/** What axe finds on the page as it is. */
export async function violationsOf(page: Page, options = allRules): Promise<string[]> {
  if (await page.evaluate("!('axe' in window)")) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** The page as in a language that is written from right to left. */
async function seeMirrored(page: Page, name: string): Promise<void> {
  await page.setViewportSize(phone);
  await page.evaluate("document.documentElement.dir = 'rtl'");
  await capture(page, `${name}-mirrored`);
  expect(await page.evaluate<string[]>(findAccessibilityProblems), `${name}, mirrored`).toEqual([]);
  expect(await violationsOf(page), `${name}, mirrored`).toEqual([]);
  await page.evaluate("document.documentElement.dir = 'ltr'");
  await page.setViewportSize(desktop);
}

/** With `SCREENSHOTS=on`, saves a picture of the page in test-output/screenshots. */
export async function capture(page: Page, name: string): Promise<void> {
  if (process.env["SCREENSHOTS"] !== "on") return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: `${screenshots}${name}.png`, fullPage: true });
}

/** Runs in the page; a text, because these tests are typed without a browser's globals. */
const findAccessibilityProblems = `(() => {
  const problems = [];
  if (!document.documentElement.lang) problems.push("no language");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not exactly one h1");
  if (!document.querySelector("main")) problems.push("no main");
  for (const field of document.querySelectorAll("input:not([type=hidden])")) {
    if (!document.querySelector("label[for=" + field.id + "]")) problems.push("no label: " + field.id);
  }
  for (const image of document.querySelectorAll("img")) {
    if (!image.hasAttribute("alt")) problems.push("no alt: " + image.src);
  }
  for (const button of document.querySelectorAll("button, a.button")) {
    if (!button.textContent.trim()) problems.push("a button without text");
    const { height } = button.getBoundingClientRect();
    if (height > 0 && height < 40) problems.push("a button of " + height + " px: " + button.textContent);
  }
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((heading) => Number(heading.tagName[1]));
  if (levels.some((level, index) => level > (levels[index - 1] ?? 0) + 1)) problems.push("a heading level is skipped");
  for (const field of document.querySelectorAll("input[type=text], input[type=email], input[type=password]")) {
    if (!field.autocomplete) problems.push("no autocomplete: " + field.name);
  }
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = ([red, green, blue]) => [red, green, blue]
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (rgba(color)[3] === 255) return color;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.checkVisibility()) continue;
    const [light, dark] = [getComputedStyle(element).color, groundOf(element)]
      .map((color) => luminance(rgba(color)))
      .sort((left, right) => right - left);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) problems.push("contrast " + contrast.toFixed(1) + ": " + element.textContent.trim());
  }
  if (document.documentElement.scrollWidth > innerWidth) problems.push("scrolls sideways");
  if (document.documentElement.lang !== "en-XA") return problems;
  // Each text of the pseudo language is in brackets; these elements contain names, codes and texts of operators and clients.
  const data = ".brand, .mark, .avatar, .person, .pick .small, .code, .secret, .codes, .detail, dd, strong, bdi, time, [lang]:not(html), script, noscript";
  const name = document.querySelector(".brand span")?.textContent;
  const isTranslated = (text) => /^(⟦[^⟦⟧]*⟧|\\P{L})*$/u.test(text.trim());
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data: text, parentElement } = walker.currentNode;
    if (!isTranslated(text) && text !== name && !parentElement.closest(data)) problems.push("a text of no catalog: " + text);
  }
  if (!document.title.startsWith("⟦")) problems.push("a title of no catalog: " + document.title);
  for (const element of document.querySelectorAll("main [aria-label], main [title], main [alt]")) {
    for (const name of ["aria-label", "title", "alt"]) {
      const text = element.getAttribute(name) ?? "";
      if (text.length > 1 && !text.includes("⟦")) problems.push("a " + name + " of no catalog: " + text);
    }
  }
  return problems;
})()`;

/** A platform authenticator that verifies its user without anybody, and stores passkeys. */
export async function addAuthenticator(context: BrowserContext, page: Page) {
  const authenticator = await context.newCDPSession(page);
  await authenticator.send("WebAuthn.enable", { enableUI: false });
  const options = {
    protocol: "ctap2" as const,
    transport: "internal" as const,
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await authenticator.send("WebAuthn.addVirtualAuthenticator", { options });
  return { authenticator, authenticatorId };
}
