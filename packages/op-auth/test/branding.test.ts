/** **The branding that administrators have saved**: in force on every page at once, at no cost of its own, and a preview of a draft. */

import type { BrandingRecord } from "@edge-op/shared/config/branding-record";
import { commitControlChange } from "@edge-op/shared/control/commit-control-change";
import { countCalls } from "@edge-op/shared/http/count-calls";
import { previewToken } from "@edge-op/shared/mail/sealed-links";
import { beforeEach, describe, expect, it } from "vitest";
import { useAnnouncedSetUp } from "../../../test/fixtures/announced-set-up.ts";
import { countColdRequests } from "../../../test/fixtures/cold-cost.ts";
import type { AuthEnv } from "../src/runtime/auth-env.ts";
import { AuthFixtures, authEnv, Browser, contextOf, locationOf, useDeployment } from "./fixtures/auth-fixtures.ts";

useAnnouncedSetUp();

const bindings = { ...authEnv, SIGN_UP: "open", MAIL_PROVIDER: "resend", MAIL_FROM: "op@example.com" } as AuthEnv;
const { fixtures, browser } = useDeployment({}, { env: bindings });

const record: BrandingRecord = {
  ...{ brand_color: "#8a1253", corner_radius: 3, font: "serif" },
  ...{ logo_url: "https://acme.example/l.png", logo_url_dark: "https://acme.example/d e.png" },
  texts: {
    sign_in_heading: { en: "Hello <b>reader</b>" },
    sign_in_intro: { en: "With your library card." },
    sign_up_intro: { en: "For readers." },
    footer: { en: "Acme Ltd", de: "Acme GmbH" },
  },
};

const store = (document: object, id = "current", version = 1) =>
  authEnv.DB.prepare("INSERT OR REPLACE INTO branding (id, document, updated_at_ms) VALUES (?1, ?2, ?3)").bind(
    id,
    JSON.stringify(document),
    version,
  );

/** As the admin API does it: in force when it returns. */
const put = (...statements: D1PreparedStatement[]) =>
  commitControlChange(contextOf(), statements, [{ kind: "upstreams", id: "*" }]);
const save = (document: object) => put(store(document));
const reset = () => put(authEnv.DB.prepare("DELETE FROM branding"));

const look = "/assets/look.css?look=8a1253-8a1253-f3f5f9-0f1218-3-serif&amp;v=";
const text = async (response: Response | Promise<Response>) => (await response).text();
const coldBrowser = (env = bindings) => new Browser(new AuthFixtures(fixtures.client), env);

/** A page of each kind, by a browser that is signed in where the page needs it. */
const pages: Readonly<Record<string, (of: Browser) => Promise<string>>> = {
  "sign-in": async (of) => text(of.get(locationOf(await of.authorize({ prompt: "login" })))),
  "sign-up": async (of) => text(of.get(locationOf(await of.authorize({ prompt: "create" })))),
  consent: async (of) => text(of.get(locationOf(await of.authorize({ prompt: "consent" })))),
  home: (of) => text(of.get("/")),
  you: (of) => text(of.get("/account")),
  security: (of) => text(of.get("/account/security")),
  applications: (of) => text(of.get("/account/applications")),
  activity: (of) => text(of.get("/account/activity")),
  password: (of) => text(of.get("/account/password")),
  device: (of) => text(of.get("/device")),
  logout: (of) => text(of.get("/logout")),
};

describe("a saved branding", () => {
  beforeEach(() => browser.signInWhole());

  it("is in force at once on every page, warm and cold, and ends at once", { timeout: 120_000 }, async () => {
    const cold = coldBrowser();
    const each = async (of: Browser) =>
      Promise.all(Object.entries(pages).map(async ([name, show]) => [name, await show(of)] as const));
    for (const [name, html] of await each(browser)) expect(html, name).not.toContain("look.css");
    await save(record);
    for (const [name, value] of browser.cookies) cold.cookies.set(name, value);
    for (const [name, html] of [...(await each(browser)), ...(await each(cold))]) {
      expect(html, name).toContain(look);
      expect(html, name).toContain('<p class="own">Acme Ltd</p>');
      expect(html, name).toContain(
        '<source srcset="https://acme.example/d%20e.png" media="(prefers-color-scheme: dark)"/><img src="https://acme.example/l.png"',
      );
    }
    await save({ ...record, brand_color: "#000000" });
    for (const [name, html] of await each(browser)) expect(html, name).toContain("look=000000-000000-");
    await reset();
    for (const [name, html] of await each(browser)) expect(html, name).not.toMatch(/look\.css|Acme Ltd/);
  });

  it("pages of failures and unknown pages have what the isolate holds", async () => {
    await save(record);
    await pages["sign-in"]!(browser);
    for (const path of ["/nothing", "/authorize?client_id=nobody", "/flow/sign-in?f=none"]) {
      expect(await text(browser.get(path)), path).toContain(look);
    }
  });

  it("texts are those of the page's language, at their places, and plain", async () => {
    await save(record);
    const visitor = coldBrowser();
    const shown = await pages["sign-in"]!(visitor);
    expect(shown).toContain("<h1>Hello &lt;b&gt;reader&lt;/b&gt;</h1>");
    expect(shown).toContain('<p id="intro">With your library card.</p>');
    expect(await pages["sign-up"]!(visitor)).toContain('<p id="intro">For readers.</p>');
    const german = await text(visitor.get(locationOf(await visitor.authorize({ ui_locales: "de" }))));
    expect(german).toContain('<p class="own">Acme GmbH</p>');
    expect(german).not.toMatch(/Hello|library/);
  });

  it("a copy of the previous release, which names no branding, is read again", async () => {
    await save(record);
    await authEnv.CACHE.put("upstreams:*", JSON.stringify({ cv: 1e9, readAtMs: Date.now(), value: { upstreams: [] } }));
    expect(await pages["sign-in"]!(coldBrowser())).toContain(look);
    expect(JSON.stringify(await authEnv.CACHE.get("upstreams:*", "json"))).toContain("#8a1253");
  });

  it("without D1 and KV, a page that needs neither is shown as the settings say", async () => {
    await save(record);
    const down = () => Promise.reject(new Error("down"));
    const statement = { bind: () => statement, all: down, first: down };
    const env = {
      ...bindings,
      DB: { prepare: () => statement, batch: down } as unknown as D1Database,
      CACHE: { get: down, put: down } as unknown as KVNamespace,
    };
    const response = await coldBrowser(env).get("/");
    expect([response.status, (await response.text()).includes("/assets/style.css?v=")]).toEqual([200, true]);
  });
});

describe("what it costs", () => {
  const counts = { object: 0, kv: 0, d1: 0 };
  const none = { object: 0, kv: 0, d1: 0 };

  it("warm, no call: with a record as without", async () => {
    for (const document of [undefined, record]) {
      if (document !== undefined) await save(document);
      const counted = new Browser(fixtures, countCalls(bindings, counts));
      await pages["sign-in"]!(counted);
      const page = locationOf(await counted.authorize());
      Object.assign(counts, none);
      await text(counted.get(page));
      await text(counted.get("/"));
      await text(counted.get("/nothing"));
      expect(counts).toEqual(none);
    }
  });

  it.each(["without", "with"])(
    "cold, a sign-in reads no more %s a record: what its pages read anyway",
    async (which) => {
      if (which === "with") await save(record);
      const cold = await countColdRequests({
        ...{ env: bindings, createIsolate: () => new AuthFixtures(fixtures.client) },
        send: async (env, isolate: AuthFixtures) => {
          const other = isolate.browser(env);
          const html = await text(other.get(locationOf(await other.authorize())));
          expect(html.includes(look)).toBe(which === "with");
        },
      });
      expect(cold).toMatchObject({ kv: 3, d1: 0 });
    },
  );

  it("cold, another page reads one copy of KV, beside what it reads itself", async () => {
    const cold = await countColdRequests({
      ...{ env: bindings, createIsolate: () => new AuthFixtures(fixtures.client) },
      send: async (env, isolate: AuthFixtures) => void (await text(isolate.browser(env).get("/"))),
    });
    expect(cold).toEqual({ object: 0, kv: 1, d1: 0 });
  });
});

describe("a preview of the draft", () => {
  const version = 1_900_000_000_000;
  const draft = { ...record, brand_color: "#00695c" };
  const nowMs = () => Date.now();
  const path = (name: string, token: string) => `/flow/preview/${name}?preview=${token}`;

  beforeEach(async () => {
    await store(draft, "draft", version).run();
  });

  const names = [
    "sign-in",
    "sign-up",
    "code",
    "method",
    "consent",
    "account",
    "device",
    "logout",
    "error",
    "not-found",
  ];

  it.each(names)(
    "the page %s: in the draft's look, inert, framed by this origin alone; nothing is in force",
    async (name) => {
      const response = await browser.get(path(name, await previewToken(authEnv, version, nowMs())));
      const html = await response.text();
      expect([response.status, html.includes("look=00695c-00695c-")]).toEqual([200, true]);
      expect(html).toContain("Acme Ltd");
      const policy = response.headers.get("content-security-policy")!;
      expect(policy).toContain("frame-ancestors 'self'; sandbox allow-same-origin");
      expect(policy).not.toContain("allow-scripts");
      expect(response.headers.get("x-frame-options")).toBe("SAMEORIGIN");
      expect(await pages["home"]!(browser)).not.toContain("look.css");
    },
  );

  it.each(["mail-code", "mail-notice"])("%s: its colours, and nothing runs", async (name) => {
    const response = await browser.get(path(name, await previewToken(authEnv, version, nowMs())));
    expect(await response.text()).toContain(".fill { background: #00695c ");
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; img-src https:; frame-ancestors 'self'; sandbox allow-same-origin",
    );
  });

  it("other pages cannot be framed", async () => {
    expect((await browser.get("/")).headers.get("x-frame-options")).toBe("DENY");
  });

  it.each<[string, () => Promise<string>]>([
    ["no token", async () => path("sign-in", "")],
    ["an invented token", async () => path("sign-in", "x".repeat(60))],
    ["a token that has ended", async () => path("sign-in", await previewToken(authEnv, version, nowMs() - 3_600_001))],
    ["another draft since", async () => path("sign-in", await previewToken(authEnv, version - 1, nowMs()))],
    ["an unknown page", async () => path("constructor", await previewToken(authEnv, version, nowMs()))],
  ])("%s: 404", async (_, target) => {
    const response = await browser.get(await target());
    expect([response.status, (await response.text()).includes("00695c")]).toEqual([404, false]);
  });
});
