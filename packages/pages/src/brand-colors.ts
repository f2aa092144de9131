/**
 * **Colours that are legible beside a brand colour**: by the contrast ratio of WCAG 2.2, 4.5 for text (§1.4.3) and 3 for what must be seen (§1.4.11).
 *
 * @see https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
 */

type Rgb = readonly number[];

function parse(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
}

/** The share of the second colour is from 0 to 1. */
export function mix(first: string, second: string, share: number): string {
  const [from, to] = [parse(first), parse(second)];
  const channels = from.map((value, index) => Math.round(value + (to[index]! - value) * share));
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function luminance(color: string): number {
  const [red, green, blue] = parse(color).map((value) => {
    const channel = value / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(first: string, second: string): number {
  const [light, dark] = [luminance(first), luminance(second)].toSorted((left, right) => right - left);
  return (light! + 0.05) / (dark! + 0.05);
}

/** Black or white, whichever is easier to read on a colour: the better one always has a contrast of 4.58. */
export function readableOn(color: string): "#ffffff" | "#000000" {
  return contrast(color, "#ffffff") >= contrast(color, "#000000") ? "#ffffff" : "#000000";
}

/** The nearest shade or tint of a colour that can be read on every ground; a ground may depend on the colour itself. */
export function legibleOn(color: string, groundsOf: (candidate: string) => readonly string[]): string {
  const end = readableOn(groundsOf(color)[0]!);
  for (let share = 0; share < 1; share += 0.02) {
    const candidate = mix(color, end, share);
    if (groundsOf(candidate).every((ground) => contrast(candidate, ground) >= 4.5)) return candidate;
  }
  return end;
}

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
