/**
 * **Screens, taps and fields of the journeys of people**, as the table of docs/operating/signing-in.md has them. A screen is a page of the provider
 * that waits for the person, a tap a button or link, a field what is typed or pasted. A prompt of the browser for a passkey counts as none.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../../packages/edge-op/src/workers.ts";
import {
  addAuthenticator,
  type BrowserFixtures,
  openBrowserFixtures,
  openContext,
  person,
} from "./browser-fixtures.ts";
import { BrowserMailbox } from "./browser-mailbox.ts";

let fixtures: BrowserFixtures;
let mailbox: BrowserMailbox;

beforeAll(async () => {
  mailbox = await BrowserMailbox.start();
  fixtures = await openBrowserFixtures({ vars: { ...mailbox.variables, SIGN_UP: "open" } });
  await fixtures.admin.require("PATCH", "/clients/demo-app", { skip_consent: true });
});

afterAll(async () => {
  await fixtures.close();
  mailbox.close();
});

/** Counts what a person sees and does, from the link of the application until it greets them. */
class Journey {
  readonly #page: Page;
  #screens = 0;
  #taps = 0;
  #fields = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Waits for a page by something on it. */
  async screen(selector: string): Promise<void> {
    await this.#page.waitForSelector(selector);
    this.#screens += 1;
  }

  async fill(selector: string, text: string): Promise<void> {
    await this.#page.fill(selector, text);
    this.#fields += 1;
  }

  async tap(selector: string): Promise<void> {
    await this.#page.click(selector);
    this.#taps += 1;
  }

  async end(): Promise<readonly number[]> {
    await this.#page.waitForSelector("#greeting");
    return [this.#screens, this.#taps, this.#fields];
  }
}

async function open(): Promise<{ context: BrowserContext; page: Page; journey: Journey }> {
  const context = await openContext(fixtures.browser);
  const page = await context.newPage();
  await page.goto(`${fixtures.application.origin}/login`);
  return { context, page, journey: new Journey(page) };
}

async function begin(journey: Journey, address: string): Promise<void> {
  await journey.screen("#username");
  await journey.tap("#sign-up");
  await journey.screen("#name");
  await journey.fill("#name", "Nina Newcomer");
  await journey.fill("#address", address);
  await journey.tap("#sign-up");
  await journey.screen("#code");
  await journey.fill("#code", await mailbox.codeFor(address));
}

const journeys: Readonly<Record<string, () => Promise<readonly number[]>>> = {
  "signing in by password": async () => {
    const { context, journey } = await open();
    await journey.screen("#username");
    await journey.fill("#username", person.username);
    await journey.fill("#password", person.password);
    await journey.tap("#sign-in");
    const counted = await journey.end();
    await context.close();
    return counted;
  },
  "signing up by passkey, then signing in by it": async () => {
    const { context, page, journey } = await open();
    await begin(journey, "by-passkey@example.com");
    await journey.screen("#create-passkey");
    await addAuthenticator(context, page);
    await journey.tap("#create-passkey");
    await journey.screen("#later");
    await journey.tap("#later");
    const counted = await journey.end();
    await context.clearCookies();
    const back = new Journey(page);
    await page.goto(`${fixtures.application.origin}/login`);
    expect([await back.end()]).toEqual([[0, 0, 0]]);
    await context.close();
    return counted;
  },
  "signing up by password": async () => {
    const { context, journey } = await open();
    await begin(journey, "by-password@example.com");
    await journey.screen("#new");
    await journey.fill("#new", "a long and new secret of Nina");
    await journey.tap("#create-account");
    const counted = await journey.end();
    await context.close();
    return counted;
  },
  "a forgotten password": async () => {
    const { context, journey } = await open();
    await journey.screen("#username");
    await journey.tap("#forgot");
    await journey.screen("#address");
    await journey.fill("#address", "alice@example.com");
    await journey.tap("#send-code");
    await journey.screen("#code");
    await journey.fill("#code", await mailbox.codeFor("alice@example.com"));
    await journey.screen("#new");
    await journey.fill("#new", "purple monkey dishwasher 42");
    await journey.fill("#repeat", "purple monkey dishwasher 42");
    await journey.tap("#change-password");
    const counted = await journey.end();
    await context.close();
    return counted;
  },
};

const page = readFileSync(join(repositoryRoot, "docs/operating/signing-in.md"), "utf8");
const documented = [...page.matchAll(/^\| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(([, name, ...counts]) => [
  name,
  counts.map(Number),
]);

test.each(Object.entries(journeys))("%s", async (name, walk) => {
  expect([name, await walk()]).toEqual(documented.find(([known]) => known === name));
});

test("the table has each journey", () => {
  expect(documented.map(([name]) => name)).toEqual(Object.keys(journeys));
});
