import { type Branding, readBranding } from "@edge-op/pages/branding";
import type { OwnEnv } from "../api/console-call.ts";

const known = new WeakMap<object, Branding>();

/** The settings of the pages, read once per isolate. */
export function readConsoleBranding(env: OwnEnv): Branding {
  const cached = known.get(env);
  if (cached !== undefined) return cached;
  const branding = readBranding(env);
  known.set(env, branding);
  return branding;
}
