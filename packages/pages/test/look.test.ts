import { describe, expect, it } from "vitest";
import { assetUrl, serveAsset } from "../src/assets.ts";
import { type Branding, brandingWith, readBranding } from "../src/branding.ts";
import { fontStacks, fonts, formatLook, readLook } from "../src/look.ts";
import { styleSheet } from "../src/style-sheet.ts";

const settings = readBranding({ BRAND_COLOR: "#123456", CORNER_RADIUS: "4", FONT: "serif" });

/** The body that an isolate with other settings serves under a URL of a page. */
function servedElsewhere(url: string): Promise<string> | undefined {
  const name = new URL(url, "https://op.example.com").pathname.slice("/assets/".length);
  return serveAsset(readBranding({}), [], name, `https://op.example.com${url}`)?.text();
}

describe("the style sheet", () => {
  it("has the corners and the font of the settings, and the usual ones without", () => {
    const css = styleSheet(settings);
    expect(css).toContain("--radius: 4px;");
    expect(css).toContain(`font: 1rem/1.5 ${fontStacks.serif};`);
    expect(styleSheet(readBranding({}))).toContain("--radius: 10px;");
  });

  it.each(fonts)("loads nothing with the font %s, which ends with a generic family", (font) => {
    expect(fontStacks[font]).toMatch(/, (sans-)?serif$/);
    expect(styleSheet({ ...settings, font })).not.toMatch(/url\(|@import|@font-face/);
  });

  it.each([
    ["CORNER_RADIUS", "25", "CORNER_RADIUS must be a whole number from 0 to 24"],
    ["FONT", "Comic Sans", "FONT must be one of system, grotesque"],
    ["LOGO_URL_DARK", "http://acme.example/logo.png", "LOGO_URL_DARK must be an https: or data:image/ URL"],
  ])("%s refuses %j", (name, value, message) => {
    expect(() => readBranding({ [name]: value })).toThrow(message);
  });
});

describe("a look in a URL", () => {
  it("is what it was made from", () => {
    for (const font of fonts) {
      const { brandColor, brandColorDark, background, backgroundDark } = settings;
      const look = { brandColor, brandColorDark, background, backgroundDark, cornerRadius: 24, font };
      expect(readLook(formatLook({ ...settings, ...look }))).toEqual(look);
    }
  });

  it.each([
    ["", "nothing"],
    ["123456-8ab4ff-f3f5f9-0f1218-10", "no font"],
    ["123456-8ab4ff-f3f5f9-0f1218-25-system", "a radius beyond the largest"],
    ["123456-8ab4ff-f3f5f9-0f1218-010-system", "another spelling of a number"],
    ["123456-8ab4ff-f3f5f9-0f1218-10-constructor", "a font that is none"],
    ["123456-8ab4ff-f3f5f9-}*{}-10-system", "what is no colour"],
    ["123456-8ab4ff-f3f5f9-0f1218-10-system\n", "a line break"],
  ])("%j is refused: %s", (text) => {
    expect(readLook(text)).toBeUndefined();
    const look = encodeURIComponent(text);
    expect(serveAsset(settings, [], "look.css", `https://op.example.com/assets/look.css?look=${look}`)).toBeUndefined();
  });

  it("of a record: any isolate serves its files by the URL, whatever its settings are", async () => {
    const branding = brandingWith(settings, { brand_color: "#8A1253", corner_radius: 0 });
    for (const [name, expected] of [
      ["style.css", styleSheet({ ...branding, brandColor: "#8a1253", brandColorDark: "#8a1253" })],
      ["icon.svg", undefined],
    ] as const) {
      const body = await servedElsewhere(assetUrl(branding, name));
      if (expected !== undefined) expect(body).toBe(expected);
      expect(body).toContain("#8a1253");
    }
    expect(assetUrl(branding, "forms.js")).toBe(assetUrl(settings, "forms.js"));
  });

  it("of a preview has one scheme, whatever the browser prefers", async () => {
    const url = assetUrl(brandingWith(settings, { background_color_dark: "#010203" }), "style.css");
    for (const [scheme, media] of [
      ["dark", "@media all{"],
      ["light", "@media not all{"],
    ] as const) {
      const css = (await servedElsewhere(`${url}&scheme=${scheme}`))!;
      expect(css).toContain(media);
      expect(css).toContain(`color-scheme: ${scheme};`);
      expect(css).not.toContain("prefers-color-scheme");
    }
    expect(await servedElsewhere(`${url}&scheme=other`)).toContain("@media (prefers-color-scheme: dark)");
  });

  it("of the settings alone is not in the URL: nothing changes for a deployment without a record", () => {
    expect(assetUrl(settings, "style.css")).toMatch(/^\/assets\/style\.css\?v=[0-9a-z]+$/);
    expect(brandingWith(settings, undefined)).toBe(settings);
    expect(assetUrl(brandingWith(settings, { texts: {} }), "style.css")).toBe(assetUrl(settings, "style.css"));
  });
});

describe("a record over the settings", () => {
  const dark = { LOGO_URL: "https://acme.example/l.png", LOGO_URL_DARK: "https://acme.example/d.png" };
  const own = { LOGO_URL: "https://acme.example/own.png" } as const;
  const table: readonly (readonly [string, Parameters<typeof brandingWith>[1], Partial<Branding>])[] = [
    ["a member that it has", { background_color: "#ffffff" }, { background: "#ffffff", brandColor: "#1f5fd6" }],
    ["a brand colour, for dark schemes too", { brand_color: "#123456" }, { brandColorDark: "#123456" }],
    [
      "both brand colours",
      { brand_color: "#123456", brand_color_dark: "#abcdef" },
      { brandColor: "#123456", brandColorDark: "#abcdef" },
    ],
    ["a logo, in place of both", { logo_url: own.LOGO_URL }, { logoUrl: own.LOGO_URL, logoUrlDark: own.LOGO_URL }],
    ["a logo for dark alone", { logo_url_dark: own.LOGO_URL }, { logoUrl: dark.LOGO_URL, logoUrlDark: own.LOGO_URL }],
    [
      "what a newer release wrote",
      { font: "unknown", brand_color: "red", corner_radius: 7 },
      { cornerRadius: 7, font: "system", brandColor: "#1f5fd6" },
    ],
  ];

  it.each(table)("%s", (_, record, expected) => {
    expect(brandingWith(readBranding(dark), record)).toMatchObject(expected);
  });

  it("is the same object while neither changes, so that its files are made once", () => {
    const record = { brand_color: "#123456" };
    expect(brandingWith(settings, record)).toBe(brandingWith(settings, record));
    expect(brandingWith(readBranding({}), record)).not.toBe(brandingWith(settings, record));
  });
});
