import type { SessionLifetime } from "@edge-op/shared/grants/sessions";

/**
 * **How a deployment presents itself to people, and how long it keeps them signed in.** Read and checked once an isolate;
 * a mistake names its variable.
 */
export interface DeploymentVariables {
  /** Shown on every page. */
  readonly DISPLAY_NAME?: string;
  /** An https image, or a data: one. */
  readonly LOGO_URL?: string;
  /** `#rrggbb` of buttons and links, in light and dark. */
  readonly BRAND_COLOR?: string;
  readonly BRAND_COLOR_DARK?: string;
  readonly SUPPORT_URL?: string;
  /** Seconds without use after which a session ends. */
  readonly SESSION_IDLE?: string;
  /** Seconds after which it ends however much it is used. */
  readonly SESSION_LIFETIME?: string;
}

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

function color(name: string, text: string | undefined, fallback: string): string {
  const value = text || fallback;
  if (!/^#[0-9a-f]{6}$/i.test(value)) throw new Error(`${name} must be a colour like #1f5fd6, not "${text}"`);
  return value;
}

function seconds(name: string, text: string | undefined, fallback: number, max: number): number {
  const value = text ? Number(text) : fallback;
  if (!Number.isInteger(value) || value < 60 || value > max) {
    throw new Error(`${name} must be a whole number from 60 to ${max}, not "${text}"`);
  }
  return value;
}

function image(text: string | undefined): string | undefined {
  if (!text) return undefined;
  if (!/^(https:\/\/|data:image\/)/.test(text)) throw new Error("LOGO_URL must be an https: or data:image/ URL");
  return text;
}

const known = new WeakMap<object, Deployment>();

export function readDeployment(env: DeploymentVariables): Deployment {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const absolute = seconds("SESSION_LIFETIME", env.SESSION_LIFETIME, 14 * 86_400, 30 * 86_400);
  const deployment: Deployment = {
    name: env.DISPLAY_NAME || "Edge OP",
    logoUrl: image(env.LOGO_URL),
    brandColor: color("BRAND_COLOR", env.BRAND_COLOR, defaultBrandColor),
    brandColorDark: color("BRAND_COLOR_DARK", env.BRAND_COLOR_DARK, env.BRAND_COLOR || defaultBrandColorDark),
    supportUrl: env.SUPPORT_URL || undefined,
    session: {
      idleMs: seconds("SESSION_IDLE", env.SESSION_IDLE, Math.min(86_400, absolute), absolute) * 1000,
      absoluteMs: absolute * 1000,
    },
  };
  known.set(env, deployment);
  return deployment;
}
