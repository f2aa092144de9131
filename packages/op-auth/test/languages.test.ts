import { describe, expect, it } from "vitest";
import { locationOf, useDeployment } from "./fixtures/auth-fixtures.ts";

const { browser } = useDeployment();

const text = async (response: Response | Promise<Response>) => (await response).text();
const german = '<html lang="de" dir="ltr">';
const choose = (language: string, to: string) => browser.post("/flow/language", { language, to });

describe("the language switch", () => {
  it("comes back to the page, and is kept by the browser before what the client and the browser ask for", async () => {
    const page = locationOf(await browser.authorize({ ui_locales: "en" }));
    const shown = await text(browser.get(page));
    expect(shown).toContain('<form method="post" action="/flow/language"');
    expect(shown).toContain(`name="to" value="${page.replaceAll("&", "&amp;")}"`);
    expect(shown).toMatch(/<details class="languages">.*<button[^>]* value="de" lang="de"[^>]*>Deutsch</s);
    const chosen = await choose("de", page);
    expect([chosen.status, locationOf(chosen)]).toEqual([303, page]);
    expect(chosen.headers.get("set-cookie")).toMatch(
      /^__Host-op-language=de; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(await text(browser.get(page))).toContain(german);
    expect(await text(browser.get("/nothing"))).toContain("<h1>Seite nicht gefunden</h1>");
    expect(await text(browser.get(locationOf(await browser.signIn(page))))).toContain("Zugriff erlauben?");
  });

  it.each([
    ["//evil.example/", "/"],
    ["/\t/evil.example/", "/"],
    ["/\\evil.example/", "/"],
    ["https://evil.example/", "/"],
    ["/x/..//evil.example/", "/"],
    ["javascript:alert(1)", "/"],
    ["/account?a=1#b", "/account?a=1"],
  ])("RFC 9700 §4.11: leads to this origin alone: %j", async (to, location) => {
    expect(locationOf(await choose("de", to))).toBe(location);
  });

  it.each(["", "xx", "__proto__"])("refuses the unknown language %j", async (language) => {
    const response = await choose(language, "/");
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("The language is unknown.");
    expect(browser.cookies.has("__Host-op-language")).toBe(false);
  });

  it("is not on a page that cannot be loaded again", async () => {
    await browser.signInWhole();
    const page = await text(browser.post("/logout", { ui_locales: "en" }));
    expect(page).toContain("Sign out?");
    expect(page).not.toContain("/flow/language");
  });
});

describe("OIDC Core §3.1.2.1: ui_locales", () => {
  it.each(["/authorize?ui_locales=de", "/nothing?ui_locales=de", "/invitation?ui_locales=de"])(
    "of a page that refuses: %s",
    async (path) => {
      expect(await text(browser.get(path))).toContain(german);
    },
  );

  it.each(["/account", "/device"])("of a link to %s: also of the sign-in before it", async (path) => {
    const signIn = locationOf(await browser.get(`${path}?ui_locales=de`));
    expect(await text(browser.get(signIn))).toContain(german);
    expect(await text(browser.get(locationOf(await browser.signIn(signIn))))).toContain(german);
  });
});

it.each([
  ["en-XA", "ltr"],
  ["ar-XB", "rtl"],
])("%s is a language of tests, made of the English texts", async (language, direction) => {
  const page = await text(browser.get(`/?ui_locales=${language}`));
  expect(page).toContain(`<html lang="${language}" dir="${direction}">`);
  expect(page).toContain("⟦");
});
