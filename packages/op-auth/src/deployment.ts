import { type Branding, brandingSettings, readBranding } from "@edge-op/pages/branding";
import { outOfRange, readAll, type VariablesOf, wholeNumber } from "@edge-op/shared/config/setting";
import type { SessionLifetime } from "@edge-op/shared/users/sessions";

/** **The settings of op-auth alone**: branding and session lifetimes. Read and checked once per isolate. */
export interface Deployment extends Branding {
  readonly session: SessionLifetime;
}

const longestSessionSeconds = 30 * 86_400;
const defaultIdleSeconds = 86_400;

const sessionSettings = {
  idleSeconds: wholeNumber("SESSION_IDLE", {
    default: defaultIdleSeconds,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning:
      "A session ends after this long without use, or up to 1/32 earlier, because not every use is written. At most `SESSION_LIFETIME`, which is the default where it is shorter.",
  }),
  absoluteSeconds: wholeNumber("SESSION_LIFETIME", {
    default: 14 * 86_400,
    min: 60,
    max: longestSessionSeconds,
    unit: "seconds",
    meaning: "A session ends this long after the sign-in, however much it is used.",
  }),
};

export const pageSettings = { ...brandingSettings, ...sessionSettings };

export type DeploymentVariables = VariablesOf<typeof pageSettings>;

const known = new WeakMap<object, Deployment>();

export function readDeployment(env: DeploymentVariables): Deployment {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const deployment: Deployment = { ...readBranding(env), session: readSessionLifetime(env) };
  known.set(env, deployment);
  return deployment;
}

function readSessionLifetime(env: DeploymentVariables): SessionLifetime {
  const { idleSeconds: given, absoluteSeconds } = readAll(sessionSettings, env);
  const idleSeconds = env.SESSION_IDLE ? given : Math.min(defaultIdleSeconds, absoluteSeconds);
  if (idleSeconds > absoluteSeconds) {
    throw outOfRange("SESSION_IDLE", String(idleSeconds), { min: 60, max: absoluteSeconds });
  }
  return { idleMs: idleSeconds * 1000, absoluteMs: absoluteSeconds * 1000 };
}
