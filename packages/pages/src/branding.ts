import type { BrandingRecord, TextPlace } from "@edge-op/shared/config/branding-record";
import { legalSettings } from "@edge-op/shared/config/legal-settings";
import {
  oneOf,
  readAll,
  type SettingsOf,
  setting,
  type VariablesOf,
  wholeNumber,
} from "@edge-op/shared/config/setting";
import { textFor } from "./languages.ts";
import { fonts, mostRadius } from "./look.ts";

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

/** What a record of branding may replace. A wrong value is an error that names its variable. */
export const lookSettings = {
  logoUrl: setting("LOGO_URL", {
    accepts: "an `https:` or `data:image/` URL",
    meaning: "Shown 32 pixels high, and up to 224 wide. Without one: a shield in the brand colour.",
    parse: parseImage,
  }),
  logoUrlDark: setting("LOGO_URL_DARK", {
    accepts: "an `https:` or `data:image/` URL",
    meaning: "The same for people who prefer a dark scheme. Without one: `LOGO_URL`.",
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
  cornerRadius: wholeNumber("CORNER_RADIUS", {
    default: 10,
    min: 0,
    max: mostRadius,
    meaning: "Pixels by which the corners of buttons and fields are rounded. Other corners are in proportion.",
  }),
  font: oneOf("FONT", fonts, {
    default: "system",
    meaning: "Which fonts of the person's system pages and mails have. A page loads no font.",
  }),
};

/** **Name, look and support link of a deployment**, shown on every page. */
export const brandingSettings = {
  name: setting("DISPLAY_NAME", {
    default: "Edge OP",
    accepts: "text",
    meaning: "Name of the provider on every page, and the name that authenticators show for a passkey.",
    parse: (_, text) => text,
  }),
  ...lookSettings,
  supportUrl: setting("SUPPORT_URL", {
    accepts: "a URL",
    meaning: 'Target of a link "Help" below each page. Without one: no link.',
    parse: (_, text) => text,
  }),
};

/** The links to terms and privacy are settings of every Worker. */
const shown = { ...brandingSettings, ...legalSettings };

export interface Branding extends SettingsOf<typeof shown> {
  /** The look is that of a record, not of the settings. */
  readonly hasOwnLook?: boolean;
  /** Texts of the deployment's own, of a record. */
  readonly texts?: BrandingRecord["texts"];
}

export type BrandingVariables = VariablesOf<typeof shown>;

export function readBranding(env: BrandingVariables): Branding {
  return readAll(shown, { ...env, BRAND_COLOR_DARK: env.BRAND_COLOR_DARK || (env.BRAND_COLOR ?? "") });
}

/** The members of a record, and the settings that they replace. */
export const recordMembers = {
  logo_url: "logoUrl",
  logo_url_dark: "logoUrlDark",
  brand_color: "brandColor",
  brand_color_dark: "brandColorDark",
  background_color: "background",
  background_color_dark: "backgroundDark",
  corner_radius: "cornerRadius",
  font: "font",
} as const satisfies Readonly<Record<Exclude<keyof BrandingRecord, "texts">, keyof typeof lookSettings>>;

const merged = new WeakMap<BrandingRecord, { readonly settings: Branding; readonly result: Branding }>();

/**
 * **The branding that is in force**: a record takes precedence over the settings, member by member. As in the settings, a brand colour or a logo
 * stands for dark schemes too where its record has no other. A value that this release does not know, of a newer one, is left out.
 */
export function brandingWith(settings: Branding, record: BrandingRecord | null | undefined): Branding {
  if (!record) return settings;
  const known = merged.get(record);
  if (known?.settings === settings) return known.result;
  const { logo_url: logo, brand_color: brand, texts } = record;
  const filled: BrandingRecord = {
    ...(logo === undefined ? {} : { logo_url_dark: logo }),
    ...(brand === undefined ? {} : { brand_color_dark: brand }),
    ...record,
  };
  const values = Object.entries(recordMembers).flatMap(([name, member]) => {
    const value = filled[name as keyof typeof recordMembers];
    return value === undefined || faultOf(member, value) !== undefined ? [] : [[member, value]];
  });
  const result = {
    ...settings,
    ...(Object.fromEntries(values) as Partial<Branding>),
    hasOwnLook: values.length > 0,
    ...(texts === undefined ? {} : { texts }),
  };
  merged.set(record, { settings, result });
  return result;
}

/** Why the settings refuse a value, without the name of their variable. */
export function faultOf(member: keyof typeof lookSettings, value: string | number): string | undefined {
  const { variable, read } = lookSettings[member];
  try {
    read(String(value));
    return undefined;
  } catch (error) {
    return (error as Error).message.slice(variable.length + 1);
  }
}

/** The deployment's own text of a place, in the language of the page: people are not shown another language's. */
export function ownText({ texts }: Pick<Branding, "texts">, place: TextPlace, language: string): string | undefined {
  return textFor(texts?.[place], language);
}
