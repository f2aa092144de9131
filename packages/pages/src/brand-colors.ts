import { contrast, legibleOn, mix, readableOn } from "./contrast.ts";

const schemes = {
  light: { card: "#ffffff", danger: "#fdecea", good: "#e5f5ec", text: "#171b22", muted: "#586174", line: "#dfe3ea" },
  dark: { card: "#181c24", danger: "#3b1614", good: "#102e1e", text: "#eceff5", muted: "#a3adbf", line: "#2b313d" },
} as const;

export type ColorScheme = keyof typeof schemes;

/** The share of the brand's text colour in the ground of a mark. */
export const tint = 0.14;

/**
 * **The colours of pages and mails, from a brand colour.** It fills buttons as it is; text, links and focus have its nearest legible shade, in the
 * card and on the background, and a fill that hardly differs from the card gets an edge. Under the pointer a fill moves away from its text.
 */
export function brandColors(brand: string, ground: string, scheme: ColorScheme) {
  const fixed = schemes[scheme];
  const { card, danger, good } = fixed;
  const brandText = legibleOn(brand, (candidate) => [card, danger, good, mix(card, candidate, tint)]);
  const onBrand = readableOn(brand);
  return {
    ...fixed,
    ...{ brand, onBrand, brandText, ground },
    hover: mix(brand, onBrand === "#ffffff" ? "#000000" : "#ffffff", 0.12),
    edge: contrast(brand, card) >= 3 ? brand : brandText,
    onGround: readableOn(ground),
    groundLink: legibleOn(brand, () => [ground]),
  };
}
