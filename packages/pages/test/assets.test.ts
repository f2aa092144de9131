import { expect, it } from "vitest";
import { assetUrl, type Script, scriptUrl, serveAsset } from "../src/assets.ts";
import { readBranding } from "../src/branding.ts";

const branding = readBranding({ BRAND_COLOR: "#123456" });
const script: Script = { name: "own.js", body: "own();" };

it.each(["style.css", "forms.js", "icon.svg"] as const)(
  "serves %s, cached forever under a URL of its content",
  async (name) => {
    const response = serveAsset(branding, [], name)!;
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await response.text()).length).toBeGreaterThan(0);
    expect(assetUrl(branding, name)).toMatch(new RegExp(`^/assets/${name}\\?v=[0-9a-z]+$`));
  },
);

it("a style sheet with other colours has another URL", () => {
  expect(assetUrl(readBranding({}), "style.css")).not.toBe(assetUrl(branding, "style.css"));
});

it("serves exactly the scripts that it is given", async () => {
  expect(await serveAsset(branding, [script], "own.js")!.text()).toBe("own();");
  expect(scriptUrl(script)).toMatch(/^\/assets\/own\.js\?v=[0-9a-z]+$/);
  expect(serveAsset(branding, [], "own.js")).toBeUndefined();
  expect(serveAsset(branding, [script], "constructor")).toBeUndefined();
});
