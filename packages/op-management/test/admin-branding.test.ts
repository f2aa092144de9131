import { largestBranding } from "@edge-op/shared/config/branding-record";
import { openPreviewToken } from "@edge-op/shared/mail/sealed-links";
import { beforeEach, describe, expect, it } from "vitest";
import { AdminCaller, bindings } from "./fixtures/admin-fixtures.ts";

let admin: AdminCaller;
beforeEach(() => {
  admin = new AdminCaller();
});

const put = (body: object, id = "current", headers: Readonly<Record<string, string>> = {}) =>
  admin.call("PUT", `/branding/${id}`, { body, headers });
const get = (id = "current") => admin.call("GET", `/branding/${id}`);
const changes = () =>
  bindings.DB.prepare("SELECT count(*) AS n FROM control_changes WHERE kind = 'upstreams'").first<number>("n");

const whole = {
  ...{ logo_url: "https://acme.example/l.png", logo_url_dark: "data:image/png;base64,AAAA" },
  ...{ brand_color: "#8a1253", brand_color_dark: "#E0a0c0", background_color: "#ffffff" },
  ...{ background_color_dark: "#000000", corner_radius: 0, font: "serif" },
  texts: { sign_in_heading: { en: "Hello" }, mail_footer: { "zh-Hans": "你好", ar: "مرحبا" } },
};

describe("/admin/branding", () => {
  it("is saved, shown, replaced as a whole and deleted; each change is one control change, and audited", async () => {
    const before = await get();
    expect([before.status, before.body, before.headers.get("etag")]).toEqual([200, { id: "current" }, '"0"']);
    const saved = await put(whole);
    expect([saved.status, saved.body]).toEqual([200, { ...whole, id: "current", updated_at: expect.any(Number) }]);
    expect((await get()).body).toEqual(saved.body);
    expect((await put({ brand_color: "#8a1253" })).status).toBe(200);
    expect((await get()).body).toEqual({ id: "current", brand_color: "#8a1253", updated_at: expect.any(Number) });
    expect((await admin.call("DELETE", "/branding/current")).status).toBe(204);
    expect((await get()).body).toEqual({ id: "current" });
    expect((await admin.call("DELETE", "/branding/current")).status).toBe(404);
    expect(await changes()).toBe(3);
    const { results } = await bindings.DB.prepare("SELECT action, target, detail FROM admin_events ORDER BY seq").all();
    const { brand_color: _, texts, ...others } = whole;
    expect(results.map((row) => ({ ...row, detail: JSON.parse(String(row["detail"])) }))).toEqual([
      {
        ...{ action: "branding.update", target: "current" },
        detail: { changed: expect.arrayContaining([...Object.keys(others), "brand_color", ...Object.keys(texts)]) },
      },
      {
        ...{ action: "branding.update", target: "current" },
        detail: { changed: expect.not.arrayContaining(["brand_color"]) },
      },
      { action: "branding.delete", target: "current", detail: { before: ["brand_color"] } },
    ]);
  });

  it("a draft is not in force: no control change, and a token for its previews alone", async () => {
    const { status, body } = await put(whole, "draft");
    expect([status, body.id]).toEqual([200, "draft"]);
    const version = await bindings.DB.prepare("SELECT updated_at_ms FROM branding").first<number>("updated_at_ms");
    expect(await openPreviewToken(bindings, body.preview, Date.now())).toBe(version);
    expect((await get()).body).toEqual({ id: "current" });
    expect(await changes()).toBe(0);
    expect((await get("draft")).body.preview).toBeDefined();
    expect((await get("other")).status).toBe(404);
    expect((await put(whole, "other")).status).toBe(404);
  });

  const text = (place: string, value: unknown) => ({ texts: { [place]: { en: value } } });

  it.each<[object, string, string]>([
    [{ brand_color: "red" }, "brand_color", 'must be a colour like #1f5fd6, not "red"'],
    [{ background_color_dark: "#fff" }, "background_color_dark", 'must be a colour like #1f5fd6, not "#fff"'],
    [{ logo_url: "http://acme.example/l.png" }, "logo_url", "must be an https: or data:image/ URL"],
    [{ logo_url_dark: "javascript:alert(1)" }, "logo_url_dark", "must be an https: or data:image/ URL"],
    [{ logo_url: `data:image/png;base64,${"A".repeat(8_192)}` }, "logo_url", "8192"],
    [{ corner_radius: 25 }, "corner_radius", "24"],
    [{ corner_radius: 1.5 }, "corner_radius", "whole number"],
    [{ font: "Comic Sans" }, "font", "system"],
    [{ font: "x; } * { display: none" }, "font", "system"],
    [text("sign_in_heading", "x".repeat(61)), "texts.sign_in_heading.en", "60"],
    [text("footer", "a\nb"), "texts.footer.en", "control characters"],
    [text("footer", " "), "texts.footer.en", "visible"],
    [text("sidebar", "x"), "texts.sidebar", "known"],
    [{ texts: { footer: { tlh: "x" } } }, "texts.footer.tlh", "must be a language of the pages"],
    [{ css: "*{}" }, "css", "known"],
  ])("%j is refused: %s %s; nothing is stored", async (body, path, message) => {
    const { status, body: answer } = await put(body);
    expect([status, answer.fields?.[0]?.path]).toEqual([400, path]);
    expect(answer.fields[0].message).toContain(message);
    expect((await get()).body).toEqual({ id: "current" });
  });

  it("as a whole it has a bound", async () => {
    const logos = {
      logo_url: `data:image/svg+xml,${"a".repeat(8_000)}`,
      logo_url_dark: `data:image/svg+xml,${"b".repeat(8_000)}`,
    };
    expect((await put(logos)).status).toBe(200);
    const tags = ["en", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "tr", "uk", "ja", "ko", "zh-Hans", "ar"];
    const full = Object.fromEntries(tags.map((tag) => [tag, "x".repeat(240)]));
    const texts = { sign_in_intro: full, sign_up_intro: full, footer: full };
    const { status, body } = await put({ ...logos, texts });
    expect([status, body.fields[0].message]).toEqual([400, `must have at most ${largestBranding} characters`]);
  });

  it("of two changes of one version, one is refused", async () => {
    const { headers } = await put({ corner_radius: 1 });
    const etag = headers.get("etag")!;
    expect((await put({ corner_radius: 2 }, "current", { "if-match": etag })).status).toBe(200);
    expect((await put({ corner_radius: 3 }, "current", { "if-match": etag })).status).toBe(412);
    expect((await put({ corner_radius: 3 }, "current", { "if-match": '"0"' })).status).toBe(412);
    const both = await Promise.all([put({ corner_radius: 4 }), put({ corner_radius: 5 })]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("requires admin:clients", async () => {
    const token = await admin.issueToken({ scope: ["admin:users"] });
    for (const [method, body] of [["GET"], ["PUT", {}], ["DELETE"]] as const) {
      const options = body === undefined ? { token } : { token, body };
      expect((await admin.call(method, "/branding/current", options)).status).toBe(403);
    }
  });
});
