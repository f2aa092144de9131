import { expect, it } from "vitest";
import { readBranding } from "../src/branding.ts";
import { styleSheet } from "../src/style-sheet.ts";

/** The colours of one scheme in the style sheet, by their names. */
function colorsOf(css: string, scheme: "light" | "dark"): Record<string, string> {
  const [light = "", dark = ""] = css.split("prefers-color-scheme: dark");
  const found = (scheme === "light" ? light : dark).matchAll(/--([a-z-]+): (#[0-9a-f]{6})/g);
  return Object.fromEntries([...found].map(([, name, color]) => [name!, color!]));
}

/** @see https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(first: string, second: string): number {
  const luminance = (color: string) =>
    [0.2126, 0.7152, 0.0722].reduce((sum, weight, index) => {
      const value = Number.parseInt(color.slice(1 + 2 * index, 3 + 2 * index), 16) / 255;
      return sum + weight * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    }, 0);
  const [a, b] = [luminance(first) + 0.05, luminance(second) + 0.05];
  return Math.max(a, b) / Math.min(a, b);
}

const steps = ["00", "22", "44", "66", "88", "aa", "cc", "ee", "ff"];
const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)));

it.each(["light", "dark"] as const)(
  "WCAG 2.2 §1.4.3, §1.4.11: %s: every brand colour and background is legible where it is used",
  (scheme) => {
    const faults: string[] = [];
    for (const [index, color] of colors.entries()) {
      // Each colour is a background once, behind a brand colour that is unlike it.
      const background = colors[(index * 2 + 300) % colors.length]!;
      const css = styleSheet(
        readBranding({
          BRAND_COLOR: color,
          BRAND_COLOR_DARK: color,
          BACKGROUND_COLOR: background,
          BACKGROUND_COLOR_DARK: background,
        }),
      );
      const of = colorsOf(css, scheme);
      const pairs: readonly (readonly [what: string, first: string, second: string, least: number])[] = [
        ["text on a button", of["on-brand"]!, of["brand"]!, 4.5],
        ["text on a button under the pointer", of["on-brand"]!, of["brand-hover"]!, 4.5],
        ["text on the background", of["on-ground"]!, of["ground"]!, 4.5],
        ["links and focus on the background", of["ground-link"]!, of["ground"]!, 4.5],
        ...["card", "danger-ground", "good-ground"].map(
          (ground) => [`text and focus on ${ground}`, of["brand-text"]!, of[ground]!, 4.5] as const,
        ),
        ["the edge of a button", of["brand-edge"]!, of["card"]!, 3],
      ];
      for (const [what, first, second, least] of pairs) {
        const found = contrast(first, second);
        if (!(found >= least)) faults.push(`${color}: ${what}: ${found.toFixed(2)}`);
      }
    }
    expect(faults).toEqual([]);
  },
);

it("a colour that is legible is used as it is", () => {
  const css = styleSheet(readBranding({}));
  expect(colorsOf(css, "light")).toMatchObject({ brand: "#1f5fd6", "brand-text": "#1f5fd6", "ground-link": "#1f5fd6" });
  expect(colorsOf(css, "dark")).toMatchObject({ brand: "#8ab4ff", "brand-text": "#8ab4ff" });
});
