/** **The pages of an account**: the menu, what each lists, and what a person recognises their sign-ins by. */

import type { EventOrigin } from "@edge-op/shared/audit/audit-event";
import { describe, expect, it } from "vitest";
import { accountPages, pageOf } from "../src/account/account-areas.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { authEnv, type Browser, formTokenOf, locationOf, password, useDeployment } from "./fixtures/auth-fixtures.ts";

const { fixtures, browser } = useDeployment({ skip_consent: true });

const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";

async function signIn(visitor: Browser = browser): Promise<void> {
  await visitor.signIn(locationOf(await visitor.get("/account")));
}

async function show(path: string): Promise<string> {
  return (await browser.get(path)).text();
}

/** Writes down the origins of the sessions that are opened. */
function watched(origins: EventOrigin[]): AuthEnv["SESSION_STORE"] {
  const { SESSION_STORE } = authEnv;
  const getByName = (...of: Parameters<typeof SESSION_STORE.getByName>) => {
    const stub = SESSION_STORE.getByName(...of);
    const open = (...[opening, origin]: Parameters<typeof stub.open>) => {
      if (origin !== undefined) origins.push(origin);
      return stub.open(opening, origin);
    };
    return new Proxy(stub, { get: (target, name) => (name === "open" ? open : Reflect.get(target, name)) });
  };
  return new Proxy(SESSION_STORE, {
    get: (target, name) =>
      name === "getByName" ? getByName : (Reflect.get(target, name) as () => unknown).bind(target),
  });
}

async function record(payload: object): Promise<void> {
  await authEnv.AUDIT_DB.prepare(
    `INSERT INTO audit_events (position, shard, seq, at_ms, type, payload, previous, hash, chain)
       VALUES (1, 'test', 1, ?1, 'sign-in.succeeded', ?2, x'00', x'00', x'00')`,
  )
    .bind(Date.now(), JSON.stringify(payload))
    .run();
}

async function activity(): Promise<string> {
  return (await show("/account/activity")).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
}

/** What the four pages and those of before have: the marked link of the menu. */
const pages = {
  "/account": "You",
  "/account/name": "You",
  "/account/security": "Security",
  "/account/passkeys": "Security",
  "/account/passkeys/rename": "Security",
  "/account/identities": "Security",
  "/account/applications": "Applications and devices",
  "/account/consents": "Applications and devices",
  "/account/sessions": "Applications and devices",
  "/account/activity": "Activity and data",
};

describe("the menu of the account", () => {
  it.each(Object.entries(pages))("%s marks %s, has the other pages, and no empty list", async (path, marked) => {
    await signIn();
    const html = await show(path);
    expect(/aria-current="page">([^<]+)/.exec(html)?.[1]).toBe(marked);
    for (const href of Object.values(accountPages)) expect(html).toContain(`<a href="${href}"`);
    expect(html).toContain('href="/logout"');
    expect(html).not.toMatch(/<ul[^>]*><\/ul>/);
  });

  it("a page that confirms leads back to the page that it came from", async () => {
    await signIn();
    for (const path of ["/account/sessions/end-others", "/account/data", "/account/delete"])
      expect(await show(path)).toContain(`href="${pageOf(path)}" id="cancel"`);
  });
});

describe("a person recognises", () => {
  it("their sign-ins in the activity: the method, the browser and the place, with the event that the session makes", async () => {
    const origins: EventOrigin[] = [];
    const visitor = fixtures.browser({ ...authEnv, SESSION_STORE: watched(origins) });
    const page = locationOf(await visitor.get("/account"));
    const form_token = formTokenOf(await (await visitor.get(page)).text());
    await visitor.once(page, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", "user-agent": firefox },
      body: new URLSearchParams({ username: "alice", password, form_token }).toString(),
      cf: { country: "CH", city: "Zürich" },
    } as RequestInit);
    expect(origins).toMatchObject([{ device: "Firefox · Windows", country: "CH", city: "Zürich" }]);
    await signIn();
    await record({ sub: "alice", amr: ["pwd", "otp", "mfa"], ...origins[0] });
    expect(await activity()).toContain("· password + one-time code · Firefox · Windows · Zürich, Switzerland");
  });

  it("an older sign-in by its time", async () => {
    await signIn();
    await record({ sub: "alice" });
    expect(await activity()).toMatch(/Signed in \d+ \w+ \d{4},? \d\d:\d\d UTC Your data/);
  });

  it("this browser among those that are signed in, also before it is signed out", async () => {
    const other = fixtures.browser();
    await signIn(other);
    await signIn();
    const links = [...(await show("/account/applications")).matchAll(/href="(\/account\/sessions\/end\?[^"]+)"/g)];
    const titles = await Promise.all(
      links.map(async ([, path = ""]) => /<h1>([^<]+)/.exec(await show(path.replaceAll("&amp;", "&")))?.[1]),
    );
    expect(titles).toEqual(["Sign out here?", "Sign out this device?"]);
  });

  it("the day of the deletion before it is asked for", async () => {
    await signIn();
    const day = new Date(Date.now() + 14 * 86_400_000);
    const date = day.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
    expect(await show("/account/delete")).toContain(`On ${date} your account`);
  });
});
