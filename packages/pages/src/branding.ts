import { legalSettings } from "@edge-op/shared/config/legal-settings";
import { readAll, type SettingsOf, setting, type VariablesOf } from "@edge-op/shared/config/setting";

function color<const Variable extends string>(variable: Variable, fallback: string, meaning: string) {
  return setting(variable, { default: fallback, accepts: "`#rrggbb`", meaning, parse: parseColor });
}

function parseColor(name: string, text: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(text)) throw new Error(`${name} must be a colour like #1f5fd6, not "${text}"`);
  return text;
}

function parseImage(name: string, text: string): string {
  if (!/^(https:\/\/|data:image\/)/.test(text)) throw new Error(`${name} must be an https: or data:image/ URL`);
  return text;
}

/** **Name, logo, colours and support link of a deployment**, shown on every page. A wrong value is an error that names its variable. */
export const brandingSettings = {
  name: setting("DISPLAY_NAME", {
    default: "Edge OP",
    accepts: "text",
    meaning: "Name of the provider on every page, and the name that authenticators show for a passkey.",
    parse: (_, text) => text,
  }),
  logoUrl: setting("LOGO_URL", {
    accepts: "an `https:` or `data:image/` URL",
    meaning: "Shown 32 pixels high, and up to 224 wide. Without one: a shield in the brand colour.",
    parse: parseImage,
  }),
  brandColor: color(
    "BRAND_COLOR",
    "#1f5fd6",
    "Colour of buttons and marks. The text on them is black or white; links, other text and the focus have its nearest shade that is legible (WCAG AA).",
  ),
  brandColorDark: color(
    "BRAND_COLOR_DARK",
    "#8ab4ff",
    "The same for people who prefer a dark scheme. Without one: `BRAND_COLOR`, if that is given.",
  ),
  background: color(
    "BACKGROUND_COLOR",
    "#f3f5f9",
    "Colour behind the card of each page. Text and links on it are black, white or the nearest legible shade of the brand colour. There is no image: nothing guarantees that a text on one is legible.",
  ),
  backgroundDark: color("BACKGROUND_COLOR_DARK", "#0f1218", "The same for people who prefer a dark scheme."),
  supportUrl: setting("SUPPORT_URL", {
    accepts: "a URL",
    meaning: 'Target of a link "Help" below each page. Without one: no link.',
    parse: (_, text) => text,
  }),
};

/** The links to terms and privacy are settings of every Worker. */
const shown = { ...brandingSettings, ...legalSettings };

export type Branding = SettingsOf<typeof shown>;
export type BrandingVariables = VariablesOf<typeof shown>;

export function readBranding(env: BrandingVariables): Branding {
  return readAll(shown, { ...env, BRAND_COLOR_DARK: env.BRAND_COLOR_DARK || (env.BRAND_COLOR ?? "") });
}
