import { outOfRange, readSetting, type SettingWithDefault, wholeNumber } from "@edge-op/shared/config/setting";
import type { SessionLifetime } from "@edge-op/shared/grants/sessions";

/**
 * **How a deployment presents itself to people, and how long it keeps them signed in.** Read and checked once an isolate;
 * a mistake names its variable.
 */
export interface Deployment {
  readonly name: string;
  readonly logoUrl: string | undefined;
  readonly brandColor: string;
  readonly brandColorDark: string;
  readonly supportUrl: string | undefined;
  readonly session: SessionLifetime;
}

const defaultBrandColor = "#1f5fd6";
const defaultBrandColorDark = "#8ab4ff";
const longestSessionSeconds = 30 * 86_400;
const defaultIdleSeconds = 86_400;

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

/** The variables of op-auth alone, described. */
export const deploymentDefinitions = {
  DISPLAY_NAME: {
    default: "Edge OP",
    accepts: "text",
    meaning: "Name of the provider on every page, and the one that authenticators show for a passkey.",
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
  SESSION_IDLE: wholeNumber({
    default: defaultIdleSeconds,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning:
      "A session ends after this long without use, or up to 1/32 earlier, because not every use is written. At most `SESSION_LIFETIME`, which is the default where it is shorter.",
  }),
  SESSION_LIFETIME: wholeNumber({
    default: 14 * 86_400,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning: "A session ends this long after the sign-in, however much it is used.",
  }),
};

export type DeploymentVariables = { readonly [Name in keyof typeof deploymentDefinitions]?: string };

const known = new WeakMap<object, Deployment>();

export function readDeployment(env: DeploymentVariables): Deployment {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const all = deploymentDefinitions;
  const deployment: Deployment = {
    name: readSetting("DISPLAY_NAME", all.DISPLAY_NAME, env.DISPLAY_NAME),
    logoUrl: readSetting("LOGO_URL", all.LOGO_URL, env.LOGO_URL),
    brandColor: readSetting("BRAND_COLOR", all.BRAND_COLOR, env.BRAND_COLOR),
    brandColorDark: readSetting("BRAND_COLOR_DARK", all.BRAND_COLOR_DARK, env.BRAND_COLOR_DARK || env.BRAND_COLOR),
    supportUrl: readSetting("SUPPORT_URL", all.SUPPORT_URL, env.SUPPORT_URL),
    session: readSessionLifetime(env),
  };
  known.set(env, deployment);
  return deployment;
}

function readSessionLifetime(env: DeploymentVariables): SessionLifetime {
  const all = deploymentDefinitions;
  const absoluteSeconds = readSetting("SESSION_LIFETIME", all.SESSION_LIFETIME, env.SESSION_LIFETIME);
  const idleSeconds = env.SESSION_IDLE
    ? readSetting("SESSION_IDLE", all.SESSION_IDLE, env.SESSION_IDLE)
    : Math.min(defaultIdleSeconds, absoluteSeconds);
  if (idleSeconds > absoluteSeconds) {
    throw outOfRange("SESSION_IDLE", String(idleSeconds), { min: 60, max: absoluteSeconds });
  }
  return { idleMs: idleSeconds * 1000, absoluteMs: absoluteSeconds * 1000 };
}
