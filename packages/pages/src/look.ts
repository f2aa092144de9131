/**
 * **Colours, corners and font of the pages, as one short text**: the style sheet is made from nothing else, so an isolate that has never read a
 * record of branding serves the sheet of any look that a page names in its URL. Every value is bounded, so nothing else can get into the sheet.
 */

/** Stacks of fonts that systems have: a page loads none. Each ends with what other scripts need. */
export const fontStacks = {
  system: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  grotesque: 'Inter, Roboto, "Helvetica Neue", "Arial Nova", "Nimbus Sans", Arial, "Noto Sans", sans-serif',
  humanist: 'Seravek, "Gill Sans Nova", Ubuntu, Calibri, "DejaVu Sans", "Noto Sans", sans-serif',
  geometric: 'Avenir, Montserrat, Corbel, "URW Gothic", "Noto Sans", sans-serif',
  rounded:
    'ui-rounded, "Hiragino Maru Gothic ProN", Quicksand, "Arial Rounded MT Bold", Calibri, "Noto Sans", sans-serif',
  serif: 'Charter, "Bitstream Charter", "Sitka Text", Cambria, "Noto Serif", "Liberation Serif", serif',
} as const;

export type Font = keyof typeof fontStacks;

export const fonts = Object.keys(fontStacks) as readonly Font[];

/** Pixels of the corners of buttons and fields; other corners are in proportion. */
export const mostRadius = 24;

export interface Look {
  readonly brandColor: string;
  readonly brandColorDark: string;
  readonly background: string;
  readonly backgroundDark: string;
  readonly cornerRadius: number;
  readonly font: Font;
}

export function formatLook({
  brandColor,
  brandColorDark,
  background,
  backgroundDark,
  cornerRadius,
  font,
}: Look): string {
  const colors = [brandColor, brandColorDark, background, backgroundDark].map((color) => color.slice(1).toLowerCase());
  return [...colors, cornerRadius, font].join("-");
}

/** `undefined` for text that {@link formatLook} does not make. */
export function readLook(text: string): Look | undefined {
  const found = /^([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-f]{6})-(\d|[1-9]\d)-([a-z]+)$/.exec(text);
  const font = fonts.find((each) => each === found?.[6]);
  if (found === null || font === undefined || Number(found[5]) > mostRadius) return undefined;
  const [brandColor, brandColorDark, background, backgroundDark] = found.slice(1, 5).map((color) => `#${color}`) as [
    string,
    string,
    string,
    string,
  ];
  return { brandColor, brandColorDark, background, backgroundDark, cornerRadius: Number(found[5]), font };
}

/** A style sheet, a page or a mail as one scheme shows it, whatever the browser prefers: for previews beside each other. */
export function inScheme(text: string, scheme: string | null): string {
  if (scheme !== "light" && scheme !== "dark") return text;
  return text
    .replaceAll("(prefers-color-scheme: dark)", scheme === "dark" ? "all" : "not all")
    .replaceAll("color-scheme: light dark", `color-scheme: ${scheme}`)
    .replaceAll('content="light dark"', `content="${scheme}"`)
    .replaceAll("/assets/look.css?", `/assets/look.css?scheme=${scheme}&amp;`);
}
