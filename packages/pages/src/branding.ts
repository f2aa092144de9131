import { readSetting, type SettingWithDefault } from "@edge-op/shared/config/setting";

/** **Name, logo, colours and support link of a deployment**, shown on every page. An invalid value causes an error that names its variable. */
export interface Branding {
  readonly name: string;
  readonly logoUrl: string | undefined;
  readonly brandColor: string;
  readonly brandColorDark: string;
  readonly supportUrl: string | undefined;
}

const defaultBrandColor = "#1f5fd6";
const defaultBrandColorDark = "#8ab4ff";

function color(fallback: string, meaning: string): SettingWithDefault<string> {
  return { default: fallback, accepts: "`#rrggbb`", meaning, parse: parseColor };
}

function parseColor(name: string, text: string): string {
  if (!/^#[0-9a-f]{6}$/i.test(text)) throw new Error(`${name} must be a colour like #1f5fd6, not "${text}"`);
  return text;
}

function parseImage(name: string, text: string): string {
  if (!/^(https:\/\/|data:image\/)/.test(text)) throw new Error(`${name} must be an https: or data:image/ URL`);
  return text;
}

export const brandingDefinitions = {
  DISPLAY_NAME: {
    default: "Edge OP",
    accepts: "text",
    meaning: "Name of the provider on every page, and the name that authenticators show for a passkey.",
    parse: (_: string, text: string) => text,
  },
  LOGO_URL: {
    accepts: "an `https:` or `data:image/` URL",
    meaning: "Shown at 32 × 32. Without one: a shield in the brand colour.",
    parse: parseImage,
  },
  BRAND_COLOR: color(defaultBrandColor, "Colour of buttons, links and marks. The text on them is black or white."),
  BRAND_COLOR_DARK: color(
    defaultBrandColorDark,
    "The same for people who prefer a dark scheme. Without one: `BRAND_COLOR`, if that is given.",
  ),
  SUPPORT_URL: {
    accepts: "a URL",
    meaning: 'Target of a link "Help" below each page. Without one: no link.',
    parse: (_: string, text: string) => text,
  },
};

export type BrandingVariables = { readonly [Name in keyof typeof brandingDefinitions]?: string };

export function readBranding(env: BrandingVariables): Branding {
  const all = brandingDefinitions;
  return {
    name: readSetting("DISPLAY_NAME", all.DISPLAY_NAME, env.DISPLAY_NAME),
    logoUrl: readSetting("LOGO_URL", all.LOGO_URL, env.LOGO_URL),
    brandColor: readSetting("BRAND_COLOR", all.BRAND_COLOR, env.BRAND_COLOR),
    brandColorDark: readSetting("BRAND_COLOR_DARK", all.BRAND_COLOR_DARK, env.BRAND_COLOR_DARK || env.BRAND_COLOR),
    supportUrl: readSetting("SUPPORT_URL", all.SUPPORT_URL, env.SUPPORT_URL),
  };
}
